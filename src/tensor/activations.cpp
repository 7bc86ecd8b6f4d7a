#include "tensor/aten.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/row_kernels.h"
#include "tensor/gradient.h"
#include "tensor/operations.h"
#include "tensor/parallel.h"

namespace roformer {
namespace {

kernels::Activation kernel_activation(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::gelu:
      return kernels::Activation::gelu;
    case ActivationKind::gelu_tanh:
      return kernels::Activation::gelu_tanh;
    case ActivationKind::relu:
      return kernels::Activation::relu;
    case ActivationKind::swish:
      return kernels::Activation::swish;
    case ActivationKind::swiglu:
    case ActivationKind::geglu:
      break;  // gated_activation's
  }
  ROFORMER_ASSERT(false);
  return kernels::Activation::gelu;
}

// Adding zeros changes no number.
at::Tensor bias_or_zeros(const at::Tensor& bias, const at::Tensor& x) {
  const at::ScalarType type = accumulate_type(x.scalar_type());
  return bias.defined() ? bias.detach().to(type).contiguous()
                        : at::zeros({x.size(-1)}, x.options().dtype(type).requires_grad(false));
}

template <typename T>
kernels::BiasActivation<T> work_on(const at::Tensor& input, const at::Tensor& bias,
                                   at::Tensor& output, ActivationKind activation) {
  return {.activation = kernel_activation(activation),
          .input = input.const_data_ptr<T>(),
          .bias = bias.const_data_ptr<kernels::Accumulate<T>>(),
          .output = output.mutable_data_ptr<T>(),
          .columns = input.size(-1)};
}

// `typed`: what the forward pass added, of the parameter `bias` or in its place.
Gradients backward_of_gpu(const at::Tensor& input, const at::Tensor& typed, const at::Tensor& bias,
                          const at::Tensor& gradient, ActivationKind activation) {
  at::Tensor input_gradient = at::empty_like(input);
  const ParameterGradient bias_gradient(bias, input.size(-1), typed.options());
  with_type(input.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    kernels::BiasActivation<T> work = work_on<T>(input, typed, input_gradient, activation);
    work.output_gradient = gradient.const_data_ptr<T>();
    work.bias_gradient = bias_gradient.total.mutable_data_ptr<kernels::Accumulate<T>>();
    gpu::bias_activation_backward(work, input.size(0), input.device());
  });
  return {input_gradient, bias_gradient.returned};
}

Gradients backward_of_loops(const at::Tensor& slope, const at::Tensor& gradient) {
  at::Tensor input_gradient = at::empty_like(slope);
  at::Tensor bias_gradient;
  with_type(slope.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    using A = kernels::Accumulate<T>;
    const kernels::BiasActivation<T> work{.output = input_gradient.mutable_data_ptr<T>(),
                                          .slope = slope.mutable_data_ptr<T>(),
                                          .output_gradient = gradient.const_data_ptr<T>(),
                                          .columns = slope.size(-1)};
    bias_gradient = for_rows_with_sums<A>(
        slope.size(0), work.columns, 1, [&](std::int64_t begin, std::int64_t end, A* partial) {
          kernels::BiasActivation<T> piece = work;
          piece.bias_gradient = partial;
          kernels::table<T>().bias_activation_backward(piece, begin, end);
        })[0];
  });
  return {input_gradient, bias_gradient};
}

}  // namespace

at::Tensor bias_activation(const at::Tensor& x, const at::Tensor& bias, ActivationKind activation) {
  const Form form = form_of(x);
  if (form == Form::composed) {
    const at::Tensor biased = bias.defined() ? x + bias.to(x.scalar_type()) : x;
    if (activation == ActivationKind::relu) return at::relu(biased);
    if (activation == ActivationKind::swish) return at::silu(biased);
    return at::gelu(biased, activation == ActivationKind::gelu ? "none" : "tanh");
  }
  GradientRecorder recorder("elementwise/bias_activation", {x, bias});
  const at::Tensor input = x.detach().contiguous();
  const at::Tensor typed = bias_or_zeros(bias, x);
  at::Tensor output = at::empty_like(input), slope;
  if (form == Form::loops && recorder.wanted()) slope = at::empty_like(input);
  with_type(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    kernels::BiasActivation<T> work = work_on<T>(input, typed, output, activation);
    if (form == Form::gpu_kernels) {
      return gpu::bias_activation_forward(work, input.size(0), input.device());
    }
    if (slope.defined()) work.slope = slope.mutable_data_ptr<T>();
    for_rows(input.size(0), work.columns, [&](std::int64_t begin, std::int64_t end) {
      kernels::table<T>().bias_activation_forward(work, begin, end);
    });
  });
  if (form == Form::gpu_kernels) {
    return recorder.finish(output, [=](const Gradients& gradients) {
      return backward_of_gpu(input, typed, bias, gradients[0].contiguous(), activation);
    });
  }
  return recorder.finish(output, [slope, biased = bias.defined()](const Gradients& gradients) {
    Gradients result = backward_of_loops(slope, gradients[0].contiguous());
    if (!biased) result[1] = at::Tensor();
    return result;
  });
}

namespace {

template <typename T>
kernels::GatedActivation<T> gated_work(const at::Tensor& input, const at::Tensor& bias,
                                       at::Tensor& output, ActivationKind activation) {
  return {.activation = activation == ActivationKind::swiglu ? kernels::Activation::swish
                                                             : kernels::Activation::gelu,
          .input = input.const_data_ptr<T>(),
          .bias = bias.const_data_ptr<kernels::Accumulate<T>>(),
          .output = output.mutable_data_ptr<T>(),
          .columns = input.size(1) / 2};
}

// `typed`: what the forward pass added, of the parameter `bias` or in its place.
Gradients gated_backward(const at::Tensor& input, const at::Tensor& typed, const at::Tensor& bias,
                         const at::Tensor& gradient, ActivationKind activation, Form form) {
  at::Tensor input_gradient = at::empty_like(input);
  at::Tensor to_bias;
  with_type(input.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    kernels::GatedActivation<T> work = gated_work<T>(input, typed, input_gradient, activation);
    work.output_gradient = gradient.const_data_ptr<T>();
    using A = kernels::Accumulate<T>;
    if (form == Form::gpu_kernels) {
      const ParameterGradient bias_gradient(bias, input.size(1), typed.options());
      work.bias_gradient = bias_gradient.total.mutable_data_ptr<A>();
      gpu::gated_activation_backward(work, input.size(0), input.device());
      to_bias = bias_gradient.returned;
      return;
    }
    to_bias = for_rows_with_sums<A>(
        input.size(0), 2 * work.columns, 1, [&](std::int64_t begin, std::int64_t end, A* partial) {
          kernels::GatedActivation<T> piece = work;
          piece.bias_gradient = partial;
          kernels::table<T>().gated_activation_backward(piece, begin, end);
        })[0];
  });
  if (!bias.defined()) to_bias = at::Tensor();
  return {input_gradient, to_bias};
}

// The same from LibTorch's operations, for devices without the loops.
at::Tensor composed_gate(const at::Tensor& x, const at::Tensor& bias, ActivationKind activation) {
  const at::Tensor biased = bias.defined() ? x + bias.to(x.scalar_type()) : x;
  const std::int64_t columns = x.size(1) / 2;
  const at::Tensor inner = biased.narrow(1, 0, columns), gate = biased.narrow(1, columns, columns);
  return (activation == ActivationKind::swiglu ? at::silu(inner) : at::gelu(inner)) * gate;
}

}  // namespace

at::Tensor gated_activation(const at::Tensor& x, const at::Tensor& bias,
                            ActivationKind activation) {
  ROFORMER_ASSERT(is_gated(activation) && x.dim() == 2 && x.size(1) % 2 == 0);
  const Form form = form_of(x);
  if (form == Form::composed) return composed_gate(x, bias, activation);
  GradientRecorder recorder("elementwise/gated_activation", {x, bias});
  const at::Tensor input = x.detach().contiguous();
  const at::ScalarType wide = accumulate_type(x.scalar_type());
  const at::Tensor typed =
      bias.defined() ? bias.detach().to(wide).contiguous()
                     : at::zeros({x.size(1)}, x.options().dtype(wide).requires_grad(false));
  at::Tensor output = at::empty({input.size(0), input.size(1) / 2}, input.options());
  with_type(x.scalar_type(), [&](auto tag) {
    using T = decltype(tag);
    const kernels::GatedActivation<T> work = gated_work<T>(input, typed, output, activation);
    if (form == Form::gpu_kernels) {
      return gpu::gated_activation_forward(work, input.size(0), input.device());
    }
    for_rows(input.size(0), input.size(1), [&](std::int64_t begin, std::int64_t end) {
      kernels::table<T>().gated_activation_forward(work, begin, end);
    });
  });
  return recorder.finish(output, [=](const Gradients& gradients) {
    return gated_backward(input, typed, bias, gradients[0].contiguous(), activation, form);
  });
}

}  // namespace roformer
