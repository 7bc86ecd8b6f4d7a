#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/row_kernels.h"
#include "tensor/gradient.h"
#include "tensor/operations.h"
#include "tensor/parallel.h"

namespace roformer {
namespace {

// The activation itself; of a gated one, that of the first half.
kernels::Activation kernel_activation(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::gelu:
    case ActivationKind::geglu:
      return kernels::Activation::gelu;
    case ActivationKind::gelu_tanh:
    case ActivationKind::geglu_tanh:
      return kernels::Activation::gelu_tanh;
    case ActivationKind::relu:
      return kernels::Activation::relu;
    case ActivationKind::swish:
    case ActivationKind::swiglu:
      return kernels::Activation::swish;
  }
  ROFORMER_ASSERT(false);
  return kernels::Activation::gelu;
}

at::Tensor with_bias(const at::Tensor& x, const at::Tensor& bias) {
  return bias.defined() ? x + bias.to(x.scalar_type()) : x;
}

at::Tensor composed_activation(const at::Tensor& x, ActivationKind activation) {
  if (activation == ActivationKind::relu) return at::relu(x);
  if (activation == ActivationKind::swish) return at::silu(x);
  return at::gelu(x, activation == ActivationKind::gelu ? "none" : "tanh");
}

// A missing bias is zeros, which change no number.
at::Tensor bias_or_zeros(const at::Tensor& bias, const at::Tensor& x) {
  const at::ScalarType type = accumulate_type(x.scalar_type());
  return bias.defined() ? bias.detach().to(type).contiguous()
                        : at::zeros({x.size(-1)}, x.options().dtype(type).requires_grad(false));
}

// Work is kernels::BiasActivation or kernels::GatedActivation; its result has `columns`.
template <template <typename> typename Work, typename T>
Work<T> work_on(const at::Tensor& input, const at::Tensor& bias, const at::Tensor& output,
                ActivationKind activation, std::int64_t columns) {
  return {.activation = kernel_activation(activation),
          .input = input.const_data_ptr<T>(),
          .bias = bias.const_data_ptr<kernels::Accumulate<T>>(),
          .output = output.mutable_data_ptr<T>(),
          .columns = columns};
}

// Runs the backward pass `work`, which only lacks the gradient of the bias [columns]; returns that.
// `loop` is the CPU's; `bias` is the parameter, or undefined.
template <template <typename> typename Work, typename T>
at::Tensor run_backward(const Work<T>& work,
                        void (*loop)(const Work<T>&, std::int64_t, std::int64_t),
                        const at::Tensor& gradient, const at::Tensor& bias, std::int64_t columns,
                        Form form) {
  using A = kernels::Accumulate<T>;
  const std::int64_t rows = gradient.size(0);
  if (form == Form::gpu_kernels) {
    const auto options = gradient.options().dtype(accumulate_type(gradient.scalar_type()));
    const ParameterGradient to_bias(bias, columns, options);
    Work<T> adding = work;
    adding.bias_gradient = to_bias.total.mutable_data_ptr<A>();
    gpu::activation_backward(adding, rows, gradient.device());
    return to_bias.returned;
  }
  const at::Tensor sums = for_rows_with_sums<A>(
      rows, columns, 1, [&](std::int64_t begin, std::int64_t end, A* partial) {
        Work<T> piece = work;
        piece.bias_gradient = partial;
        loop(piece, begin, end);
      });
  return bias.defined() ? sums[0] : at::Tensor();
}

}  // namespace

at::Tensor bias_activation(const at::Tensor& x, const at::Tensor& bias, ActivationKind activation) {
  ROFORMER_ASSERT(!is_gated(activation));
  const Form form = form_of(x);
  if (form == Form::composed) {
    return composed_activation(with_bias(x, bias), activation);
  }
  GradientRecorder recorder("elementwise/bias_activation", {x, bias});
  const at::Tensor input = x.detach().contiguous(), typed = bias_or_zeros(bias, x);
  const at::Tensor output = at::empty_like(input);
  const std::int64_t columns = input.size(-1);
  at::Tensor slope;
  if (form == Form::loops && recorder.wanted()) slope = at::empty_like(input);
  with_type(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    auto work = work_on<kernels::BiasActivation, T>(input, typed, output, activation, columns);
    if (form == Form::gpu_kernels) {
      return gpu::activation_forward(work, input.size(0), input.device());
    }
    if (slope.defined()) work.slope = slope.mutable_data_ptr<T>();
    for_rows(input.size(0), columns, [&](std::int64_t begin, std::int64_t end) {
      kernels::table<T>().bias_activation_forward(work, begin, end);
    });
  });
  // A CPU only keeps the slope.
  const at::Tensor held = slope.defined() ? slope : input;
  return recorder.finish(output, [=](const Gradients& gradients) -> Gradients {
    const at::Tensor gradient = gradients[0].contiguous(), to_input = at::empty_like(held);
    at::Tensor to_bias;
    with_type(held.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      auto work = work_on<kernels::BiasActivation, T>(held, typed, to_input, activation, columns);
      if (slope.defined()) work.slope = slope.mutable_data_ptr<T>();
      work.output_gradient = gradient.const_data_ptr<T>();
      to_bias = run_backward(work, kernels::table<T>().bias_activation_backward, gradient, bias,
                             columns, form);
    });
    return {to_input, to_bias};
  });
}

at::Tensor gated_activation(const at::Tensor& x, const at::Tensor& bias,
                            ActivationKind activation) {
  ROFORMER_ASSERT(is_gated(activation) && x.dim() == 2 && x.size(1) % 2 == 0);
  const Form form = form_of(x);
  const std::int64_t columns = x.size(1) / 2;
  if (form == Form::composed) {
    const at::Tensor biased = with_bias(x, bias), inner = biased.narrow(1, 0, columns);
    return composed_activation(inner, without_gate(activation)) *
           biased.narrow(1, columns, columns);
  }
  GradientRecorder recorder("elementwise/gated_activation", {x, bias});
  const at::Tensor input = x.detach().contiguous(), typed = bias_or_zeros(bias, x);
  const at::Tensor output = at::empty({input.size(0), columns}, input.options());
  with_type(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const auto work =
        work_on<kernels::GatedActivation, T>(input, typed, output, activation, columns);
    if (form == Form::gpu_kernels) {
      return gpu::activation_forward(work, input.size(0), input.device());
    }
    for_rows(input.size(0), 2 * columns, [&](std::int64_t begin, std::int64_t end) {
      kernels::table<T>().gated_activation_forward(work, begin, end);
    });
  });
  return recorder.finish(output, [=](const Gradients& gradients) -> Gradients {
    const at::Tensor gradient = gradients[0].contiguous(), to_input = at::empty_like(input);
    at::Tensor to_bias;
    with_type(input.scalar_type(), [&](auto tag) {
      using T = decltype(tag);
      auto work = work_on<kernels::GatedActivation, T>(input, typed, to_input, activation, columns);
      work.output_gradient = gradient.const_data_ptr<T>();
      to_bias = run_backward(work, kernels::table<T>().gated_activation_backward, gradient, bias,
                             2 * columns, form);
    });
    return {to_input, to_bias};
  });
}

}  // namespace roformer
