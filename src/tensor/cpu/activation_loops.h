// Bias and activation, with and without a gate.
#pragma once

#include "tensor/cpu/lanes.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

template <Activation activation, typename T>
void bias_activation_forward_as(const BiasActivation<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  for (std::int64_t row = begin; row < end; ++row) {
    for_parts(o.columns, [&](std::int64_t first, std::int64_t count) ROFORMER_INLINED {
      const std::int64_t at = row * o.columns + first;
      const T* __restrict input = o.input + at;
      const A* __restrict bias = o.bias + first;
      RowResult<T, kPart> outputs, slopes;
      A* __restrict output = outputs.begin(o.output + at);
      if (o.slope == nullptr) {
        for (std::int64_t c = 0; c < count; ++c) {
          output[c] = activate<activation>(load(input[c]) + bias[c]);
        }
      } else {
        A* __restrict slope = slopes.begin(o.slope + at);
        for (std::int64_t c = 0; c < count; ++c) {
          const A value = load(input[c]) + bias[c];
          output[c] = activate<activation>(value);
          slope[c] = activate_slope<activation>(value);
        }
        slopes.end(o.slope + at, count);
      }
      outputs.end(o.output + at, count);
    });
  }
}

template <typename T>
void bias_activation_forward(const BiasActivation<T>& o, std::int64_t begin, std::int64_t end) {
  switch (o.activation) {
    case Activation::gelu:
      return bias_activation_forward_as<Activation::gelu>(o, begin, end);
    case Activation::gelu_tanh:
      return bias_activation_forward_as<Activation::gelu_tanh>(o, begin, end);
    case Activation::relu:
      return bias_activation_forward_as<Activation::relu>(o, begin, end);
    case Activation::swish:
      return bias_activation_forward_as<Activation::swish>(o, begin, end);
  }
}

template <typename T>
void bias_activation_backward(const BiasActivation<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  for (std::int64_t row = begin; row < end; ++row) {
    for_parts(o.columns, [&](std::int64_t first, std::int64_t count) ROFORMER_INLINED {
      const std::int64_t at = row * o.columns + first;
      const T* __restrict slope = o.slope + at;
      const T* __restrict gradient = o.output_gradient + at;
      A* __restrict bias_gradient = o.bias_gradient + first;
      RowResult<T, kPart> results;
      A* __restrict result = results.begin(o.output + at);
      for (std::int64_t c = 0; c < count; ++c) {
        const A value = load(gradient[c]) * load(slope[c]);
        bias_gradient[c] += value;
        result[c] = value;
      }
      results.end(o.output + at, count);
    });
  }
}

template <Activation activation, typename T>
void gated_activation_forward_as(const GatedActivation<T>& o, std::int64_t begin,
                                 std::int64_t end) {
  const std::int64_t n = o.columns;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* __restrict input = o.input + 2 * row * n;
    const auto* __restrict bias = o.bias;
    T* __restrict output = o.output + row * n;
    for (std::int64_t c = 0; c < n; ++c) {
      store(output[c],
            activate<activation>(load(input[c]) + bias[c]) * (load(input[n + c]) + bias[n + c]));
    }
  }
}

template <Activation activation, typename T>
void gated_activation_backward_as(const GatedActivation<T>& o, std::int64_t begin,
                                  std::int64_t end) {
  using A = Accumulate<T>;
  const std::int64_t n = o.columns;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* __restrict input = o.input + 2 * row * n;
    const T* __restrict gradient = o.output_gradient + row * n;
    const A* __restrict bias = o.bias;
    A* __restrict bias_gradient = o.bias_gradient;
    T* __restrict output = o.output + 2 * row * n;
    for (std::int64_t c = 0; c < n; ++c) {
      const A inner = load(input[c]) + bias[c];
      const A gate = load(input[n + c]) + bias[n + c];
      const A outer = load(gradient[c]);
      const A to_inner = outer * gate * activate_slope<activation>(inner);
      const A to_gate = outer * activate<activation>(inner);
      bias_gradient[c] += to_inner;
      bias_gradient[n + c] += to_gate;
      store(output[c], to_inner);
      store(output[n + c], to_gate);
    }
  }
}

// Of the two activations that have a gated form.
template <typename T>
void gated_activation_forward(const GatedActivation<T>& o, std::int64_t begin, std::int64_t end) {
  if (o.activation == Activation::swish) {
    return gated_activation_forward_as<Activation::swish>(o, begin, end);
  }
  gated_activation_forward_as<Activation::gelu>(o, begin, end);
}

template <typename T>
void gated_activation_backward(const GatedActivation<T>& o, std::int64_t begin, std::int64_t end) {
  if (o.activation == Activation::swish) {
    return gated_activation_backward_as<Activation::swish>(o, begin, end);
  }
  gated_activation_backward_as<Activation::gelu>(o, begin, end);
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
