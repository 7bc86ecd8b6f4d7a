#include <optional>

#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/row_kernels.h"
#include "tensor/gradient.h"
#include "tensor/on_device.h"
#include "tensor/operations.h"
#include "tensor/parallel.h"

namespace roformer::composed {
namespace {

// A constant's bits as a signed number: LibTorch's integers are signed, and their products wrap.
std::int64_t bits(std::uint64_t value) {
  return static_cast<std::int64_t>(value);
}
std::int64_t bits32(std::uint32_t value) {
  return static_cast<std::int32_t>(value);
}

// x ^ (x >> shift) with zeros shifted in, in place.
template <int kWidth>
void fold(at::Tensor& x, int shift) {
  const std::int64_t mask = bits((std::uint64_t{1} << (kWidth - shift)) - 1);
  x.bitwise_xor_(x.bitwise_right_shift(shift).bitwise_and_(mask));
}

}  // namespace

at::Tensor dropped(const DropoutSpec& spec, std::int64_t rows, std::int64_t columns,
                   at::Device device) {
  if (GraphRecording::current() != nullptr) {
    throw_failure("dropout", "masks made by LibTorch's operations cannot be part of a graph");
  }
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  at::Tensor keys = at::arange(spec.first_row + 1, spec.first_row + rows + 1, options)
                        .mul_(bits(0x9e3779b97f4a7c15ULL))
                        .add_(bits(spec.key));
  fold<64>(keys, 30);
  keys.mul_(bits(0xbf58476d1ce4e5b9ULL));
  fold<64>(keys, 27);
  keys.mul_(bits(0x94d049bb133111ebULL));
  fold<64>(keys, 31);
  const at::Tensor steps =
      at::arange(columns, options.dtype(at::kInt)).mul_(bits32(0x9e3779b9u)).unsqueeze(0);
  at::Tensor x = keys.to(at::kInt).unsqueeze(1) + steps;  // the low halves of the keys
  fold<32>(x, 16);
  x.mul_(bits32(0x7feb352du));
  fold<32>(x, 15);
  x.mul_(bits32(0x846ca68bu));
  fold<32>(x, 16);
  // Unsigned x < threshold, as a comparison of signed numbers with the highest bit flipped.
  constexpr std::uint32_t kSign = 0x80000000u;
  const auto threshold = static_cast<std::uint32_t>(spec.probability * 4294967296.0);
  return x.bitwise_xor_(bits32(kSign)).lt(bits32(threshold ^ kSign));
}

NormedSum residual_norm(const ResidualNormInputs& in) {
  NormedSum result{.sum = in.residual};
  if (in.input.defined()) {
    result.sum = in.bias.defined() ? in.input + in.bias.to(in.input.scalar_type()) : in.input;
    if (in.dropout.probability > 0) {
      const at::Tensor zeros =
          dropped(in.dropout, in.input.size(0), in.input.size(1), in.input.device());
      result.sum = (result.sum * (1 / (1 - in.dropout.probability))).masked_fill(zeros, 0);
    }
    if (in.residual.defined()) result.sum = result.sum + in.residual;
  }
  if (in.gain.defined()) {
    const at::Tensor wide = result.sum.to(in.gain.scalar_type());
    at::Tensor normed;
    if (in.norm == NormKind::layer_norm) {
      std::optional<at::Tensor> shift;
      if (in.shift.defined()) shift = in.shift;
      normed = at::layer_norm(wide, {wide.size(1)}, in.gain, shift, in.epsilon);
    } else {
      normed = wide * at::rsqrt(wide.square().mean(-1, true) + in.epsilon) * in.gain;
      if (in.shift.defined()) normed = normed + in.shift;
    }
    result.normed = normed.to(result.sum.scalar_type());
  }
  return result;
}

}  // namespace roformer::composed

namespace roformer {
namespace {

template <typename T>
const T* pointer(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<T>() : nullptr;
}
template <typename T>
T* mutable_pointer(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.mutable_data_ptr<T>() : nullptr;
}

at::Tensor contiguous_or_undefined(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.detach().contiguous() : tensor;
}

kernels::Dropout kernel_dropout(const DropoutSpec& spec) {
  kernels::Dropout result{
      .probability = spec.probability, .key = spec.key, .first_row = spec.first_row};
  const GraphRecording* const recording = GraphRecording::current();
  if (recording != nullptr && spec.probability > 0) result.key_at = recording->address_of(spec.key);
  return result;
}

// The data that the backward pass needs from the forward pass.
struct Saved {
  at::Tensor sum, mean, deviation, gain;  // undefined without a norm
  at::Tensor bias, trained_gain, shift;   // the parameters themselves
  DropoutSpec dropout;
  Form form = Form::loops;
  bool centred = true;
  bool has_input = false, has_residual = false;
};

Gradients backward(const Saved& saved, const at::Tensor& from_sum, const at::Tensor& from_normed) {
  if (!from_sum.defined() && !from_normed.defined()) return Gradients(5);
  const at::Tensor& shape = from_sum.defined() ? from_sum : from_normed;
  const std::int64_t rows = shape.size(0), columns = shape.size(1);
  // Without dropout the gradients of input and residual are the same tensor.
  const bool shared = saved.has_input && saved.has_residual && saved.dropout.probability == 0;
  const auto empty_if = [&](bool wanted) {
    return wanted ? at::empty(shape.sizes(), shape.options()) : at::Tensor();
  };
  const at::Tensor to_input = empty_if(saved.has_input);
  const at::Tensor to_residual = empty_if(saved.has_residual && !shared);
  Gradients result(5);
  at::Tensor sums;
  with_type(shape.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using A = kernels::Accumulate<T>;
    const kernels::ResidualNorm<T> work{.columns = columns,
                                        .dropout = kernel_dropout(saved.dropout),
                                        .centred = saved.centred,
                                        .gain = pointer<A>(saved.gain),
                                        .sum = mutable_pointer<T>(saved.sum),
                                        .mean = mutable_pointer<A>(saved.mean),
                                        .inverse_deviation = mutable_pointer<A>(saved.deviation),
                                        .normed_gradient = pointer<T>(from_normed),
                                        .sum_gradient = pointer<T>(from_sum),
                                        .input_gradient = mutable_pointer<T>(to_input),
                                        .residual_gradient = mutable_pointer<T>(to_residual)};
    if (saved.form == Form::gpu_kernels) {
      kernels::ResidualNorm<T> adding = work;
      const auto options = shape.options().dtype(accumulate_type(shape.scalar_type()));
      const auto gradient_of = [&](const at::Tensor& parameter, std::size_t index) -> A* {
        if (!parameter.defined()) return nullptr;
        const ParameterGradient gradient(parameter, columns, options);
        result[index] = gradient.returned;
        return gradient.total.mutable_data_ptr<A>();
      };
      adding.bias_gradient = gradient_of(saved.bias, 1);
      adding.gain_gradient = gradient_of(saved.trained_gain, 3);
      adding.shift_gradient = gradient_of(saved.shift, 4);
      gpu::residual_norm_backward(adding, rows, shape.device());
      return;
    }
    sums = for_rows_with_sums<A>(rows, columns, 3,
                                 [&](std::int64_t begin, std::int64_t end, A* partial) {
                                   kernels::ResidualNorm<T> piece = work;
                                   piece.bias_gradient = saved.bias.defined() ? partial : nullptr;
                                   piece.gain_gradient = partial + columns;
                                   piece.shift_gradient = partial + 2 * columns;
                                   kernels::table<T>().residual_norm_backward(piece, begin, end);
                                 });
  });
  result[0] = to_input;
  result[2] = shared ? to_input : to_residual;
  if (!sums.defined()) return result;
  if (saved.bias.defined()) result[1] = sums[0];
  if (saved.gain.defined()) {
    result[3] = sums[1];
    if (saved.shift.defined()) result[4] = sums[2];
  }
  return result;
}

}  // namespace

at::Tensor dropout(const at::Tensor& x, const DropoutSpec& spec) {
  if (spec.probability == 0) return x;
  return residual_norm({.input = x, .dropout = spec}).sum;
}

NormedSum residual_norm(const ResidualNormInputs& in) {
  const at::Tensor& shape = in.input.defined() ? in.input : in.residual;
  ROFORMER_ASSERT(shape.defined() && shape.dim() == 2);
  const Form form = form_of(shape);
  if (form == Form::composed) return composed::residual_norm(in);

  GradientRecorder recorder("elementwise/residual_norm",
                            {in.input, in.bias, in.residual, in.gain, in.shift});
  const at::ScalarType type = shape.scalar_type();
  const auto statistics = shape.options().dtype(accumulate_type(type)).requires_grad(false);
  const auto plain = shape.options().requires_grad(false);
  const std::int64_t rows = shape.size(0), columns = shape.size(1);
  const at::Tensor input = contiguous_or_undefined(in.input);
  const at::Tensor residual = contiguous_or_undefined(in.residual);
  const at::Tensor sum = at::empty(shape.sizes(), plain);
  Saved saved{.bias = in.bias,
              .trained_gain = in.gain,
              .shift = in.shift,
              .dropout = in.dropout,
              .form = form,
              .centred = in.norm == NormKind::layer_norm,
              .has_input = input.defined(),
              .has_residual = residual.defined()};
  at::Tensor normed;
  if (in.gain.defined()) {
    normed = at::empty(shape.sizes(), plain);
    saved.sum = sum;
    saved.mean = at::empty({rows}, statistics);
    saved.deviation = at::empty({rows}, statistics);
    saved.gain = in.gain.detach();
  }
  with_type(type, [&](auto tag) {
    using T = decltype(tag);
    using A = kernels::Accumulate<T>;
    const kernels::ResidualNorm<T> work{.columns = columns,
                                        .dropout = kernel_dropout(in.dropout),
                                        .epsilon = in.epsilon,
                                        .centred = saved.centred,
                                        .input = pointer<T>(input),
                                        .bias = pointer<A>(in.bias),
                                        .residual = pointer<T>(residual),
                                        .gain = pointer<A>(in.gain),
                                        .shift = pointer<A>(in.shift),
                                        .sum = mutable_pointer<T>(sum),
                                        .normed = mutable_pointer<T>(normed),
                                        .mean = mutable_pointer<A>(saved.mean),
                                        .inverse_deviation = mutable_pointer<A>(saved.deviation)};
    if (form == Form::gpu_kernels) {
      return gpu::residual_norm_forward(work, rows, shape.device());
    }
    for_rows(rows, columns, [&](std::int64_t begin, std::int64_t end) {
      kernels::table<T>().residual_norm_forward(work, begin, end);
    });
  });
  const bool norms = normed.defined();
  std::vector<at::Tensor> outputs{sum};
  if (norms) outputs.push_back(normed);
  outputs = recorder.finish(std::move(outputs), [saved, norms](const Gradients& gradients) {
    return backward(saved, contiguous_or_undefined(gradients[0]),
                    norms ? contiguous_or_undefined(gradients[1]) : at::Tensor());
  });
  return {.sum = outputs[0], .normed = norms ? outputs[1] : at::Tensor()};
}

}  // namespace roformer
