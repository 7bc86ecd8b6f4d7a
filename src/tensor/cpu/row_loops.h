// The row loops of kernels.h: activations, norms, rotation, sums of columns, FAVOR+'s features. The
// kernels of gpu/sources compute the same with a thread for some columns; what both share are the
// formulas of kernel_arithmetic.h.
#pragma once

#include "tensor/cpu/lanes.h"
#include "tensor/kernel_arithmetic.h"

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

// All activations but relu have a gated form.
template <typename T>
void gated_activation_forward(const GatedActivation<T>& o, std::int64_t begin, std::int64_t end) {
  if (o.activation == Activation::swish) {
    return gated_activation_forward_as<Activation::swish>(o, begin, end);
  }
  if (o.activation == Activation::gelu_tanh) {
    return gated_activation_forward_as<Activation::gelu_tanh>(o, begin, end);
  }
  gated_activation_forward_as<Activation::gelu>(o, begin, end);
}

template <typename T>
void gated_activation_backward(const GatedActivation<T>& o, std::int64_t begin, std::int64_t end) {
  if (o.activation == Activation::swish) {
    return gated_activation_backward_as<Activation::swish>(o, begin, end);
  }
  if (o.activation == Activation::gelu_tanh) {
    return gated_activation_backward_as<Activation::gelu_tanh>(o, begin, end);
  }
  gated_activation_backward_as<Activation::gelu>(o, begin, end);
}

template <typename T>
void residual_norm_forward(const ResidualNorm<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  const std::int64_t n = o.columns;
  for (std::int64_t row = begin; row < end; ++row) {
    T* __restrict sum = o.sum + row * n;
    const DropoutRow dropout(o.dropout, row);
    const bool drops = o.dropout.probability > 0;
    if (o.input != nullptr) {
      for_parts(n, [&](std::int64_t first, std::int64_t count) ROFORMER_INLINED {
        const T* __restrict input = o.input + row * n + first;
        RowResult<T, kPart> sums;
        A* __restrict parts = sums.begin(sum + first);
        for (std::int64_t c = 0; c < count; ++c) parts[c] = load(input[c]);
        if (o.bias != nullptr) {
          const A* __restrict bias = o.bias + first;
          for (std::int64_t c = 0; c < count; ++c) parts[c] += bias[c];
        }
        if (drops) {
          for (std::int64_t c = 0; c < count; ++c) {
            parts[c] *= static_cast<A>(dropout(static_cast<std::uint32_t>(first + c)));
          }
        }
        if (o.residual != nullptr) {
          const T* __restrict residual = o.residual + row * n + first;
          for (std::int64_t c = 0; c < count; ++c) parts[c] += load(residual[c]);
        }
        sums.end(sum + first, count);
      });
    } else {
      std::memcpy(sum, o.residual + row * n, static_cast<std::size_t>(n) * sizeof(T));
    }
    if (o.gain == nullptr) continue;
    A total = 0;
    for (std::int64_t c = 0; c < n; ++c) total += load(sum[c]);
    const A mean = o.centred ? total / static_cast<A>(n) : A(0);
    A squares = 0;
    for (std::int64_t c = 0; c < n; ++c) {
      const A centred = load(sum[c]) - mean;
      squares += centred * centred;
    }
    const A inverse = A(1) / std::sqrt(squares / static_cast<A>(n) + static_cast<A>(o.epsilon));
    o.mean[row] = mean;
    o.inverse_deviation[row] = inverse;
    T* const normed = o.normed + row * n;
    for_parts(n, [&](std::int64_t first, std::int64_t count) ROFORMER_INLINED {
      const T* __restrict from = sum + first;
      const A* __restrict gain = o.gain + first;
      RowResult<T, kPart> results;
      A* __restrict result = results.begin(normed + first);
      if (o.shift == nullptr) {
        for (std::int64_t c = 0; c < count; ++c) {
          result[c] = (load(from[c]) - mean) * inverse * gain[c];
        }
      } else {
        const A* __restrict shift = o.shift + first;
        for (std::int64_t c = 0; c < count; ++c) {
          result[c] = (load(from[c]) - mean) * inverse * gain[c] + shift[c];
        }
      }
      results.end(normed + first, count);
    });
  }
}

template <typename T>
void residual_norm_backward(const ResidualNorm<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  const std::int64_t n = o.columns;
  constexpr std::int64_t kStack = 4096;
  A local[kStack];
  A* __restrict gradient = n <= kStack ? local : new A[static_cast<std::size_t>(n)];
  for (std::int64_t row = begin; row < end; ++row) {
    for (std::int64_t c = 0; c < n; ++c) gradient[c] = 0;
    if (o.normed_gradient != nullptr) {
      const T* __restrict sum = o.sum + row * n;
      const T* __restrict from_normed = o.normed_gradient + row * n;
      const A* __restrict gain = o.gain;
      A* __restrict gain_gradient = o.gain_gradient;
      A* __restrict shift_gradient = o.shift_gradient;
      const A mean = o.mean[row];
      const A inverse = o.inverse_deviation[row];
      A total = 0, projection = 0;
      for (std::int64_t c = 0; c < n; ++c) {
        const A outer = load(from_normed[c]);
        const A centred = (load(sum[c]) - mean) * inverse;
        gain_gradient[c] += outer * centred;
        shift_gradient[c] += outer;
        const A inner = outer * gain[c];
        gradient[c] = inner;
        total += inner;
        projection += inner * centred;
      }
      total = o.centred ? total / static_cast<A>(n) : A(0);
      projection /= static_cast<A>(n);
      for (std::int64_t c = 0; c < n; ++c) {
        const A centred = (load(sum[c]) - mean) * inverse;
        gradient[c] = inverse * (gradient[c] - total - centred * projection);
      }
    }
    if (o.sum_gradient != nullptr) {
      const T* __restrict from_sum = o.sum_gradient + row * n;
      for (std::int64_t c = 0; c < n; ++c) gradient[c] += load(from_sum[c]);
    }
    if (o.residual_gradient != nullptr) {
      T* __restrict to_residual = o.residual_gradient + row * n;
      store_row(gradient, to_residual, n);
    }
    if (o.input_gradient != nullptr) {
      T* __restrict to_input = o.input_gradient + row * n;
      if (o.dropout.probability > 0) {
        const DropoutRow dropout(o.dropout, row);
        for (std::int64_t c = 0; c < n; ++c) {
          gradient[c] *= static_cast<A>(dropout(static_cast<std::uint32_t>(c)));
        }
      }
      store_row(gradient, to_input, n);
      if (o.bias_gradient != nullptr) {
        A* __restrict to_bias = o.bias_gradient;
        for (std::int64_t c = 0; c < n; ++c) to_bias[c] += gradient[c];
      }
    }
  }
  if (gradient != local) delete[] gradient;
}

template <bool interleaved, typename T>
ROFORMER_INLINE void rotate_head(const Rotate<T>& o, const T* input, T* output,
                                 const Accumulate<T>* bias, const Accumulate<T>* cosine,
                                 const Accumulate<T>* sine, Accumulate<T> direction) {
  using A = Accumulate<T>;
  const std::int64_t half = o.rotary_width / 2;
  // A pair is read before it is written: output may be input.
  for_parts(half, [&](std::int64_t begin, std::int64_t count) ROFORMER_INLINED {
    A from[2 * kPart], to[2 * kPart];
    const std::int64_t at = interleaved ? 2 * begin : begin;
    const std::int64_t second = interleaved ? 1 : kPart, step = interleaved ? 2 : 1;
    const auto gather = [&](std::int64_t feature, std::int64_t features, A* place) {
      for (std::int64_t c = 0; c < features; ++c) place[c] = load(input[feature + c]);
      if (bias == nullptr) return;
      for (std::int64_t c = 0; c < features; ++c) place[c] += bias[feature + c];
    };
    if constexpr (interleaved) {
      gather(at, 2 * count, from);
    } else {
      gather(at, count, from);
      gather(half + at, count, from + kPart);
    }
    for (std::int64_t pair = 0; pair < count; ++pair) {
      const A a = from[step * pair], b = from[step * pair + second];
      const A s = sine[begin + pair] * direction;
      to[step * pair] = a * cosine[begin + pair] - b * s;
      to[step * pair + second] = b * cosine[begin + pair] + a * s;
    }
    if constexpr (interleaved) {
      store_row(to, output + at, 2 * count);
    } else {
      store_row(to, output + at, count);
      store_row(to + kPart, output + half + at, count);
    }
  });
  for (std::int64_t c = o.rotary_width; c < o.width; ++c) {
    store(output[c], bias == nullptr ? load(input[c]) : load(input[c]) + bias[c]);
  }
}

template <bool interleaved, typename T>
void rotate_rows(const Rotate<T>& o, std::int64_t begin, std::int64_t end) {
  using A = Accumulate<T>;
  const std::int64_t half = o.rotary_width / 2;
  const A direction = o.inverse ? A(-1) : A(1);
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t position = row % o.positions;
    const A* cosine = o.cosine + position * half;
    const A* sine = o.sine + position * half;
    for (std::int64_t head = 0; head < o.heads; ++head) {
      const T* input = o.input + row * o.input_row + head * o.input_head;
      T* output = o.output + row * o.output_row + head * o.output_head;
      const A* bias = o.bias == nullptr ? nullptr : o.bias + head * o.width;
      if (bias == nullptr) {
        rotate_head<interleaved>(o, input, output, nullptr, cosine, sine, direction);
      } else {
        rotate_head<interleaved>(o, input, output, bias, cosine, sine, direction);
      }
    }
  }
}

template <typename T>
void rotate(const Rotate<T>& o, std::int64_t begin, std::int64_t end) {
  if (o.interleaved) return rotate_rows<true>(o, begin, end);
  return rotate_rows<false>(o, begin, end);
}

// Four rows at a time: a pass over the sums costs as much as one over a row.
template <typename T>
void column_sums(const ColumnSums<T>& o, std::int64_t begin, std::int64_t end) {
  auto* __restrict sums = o.sums;
  std::int64_t row = begin;
  for (; row + 4 <= end; row += 4) {
    const T* __restrict a = o.rows + row * o.columns;
    const T* __restrict b = a + o.columns;
    const T* __restrict c = b + o.columns;
    const T* __restrict d = c + o.columns;
    for (std::int64_t i = 0; i < o.columns; ++i) {
      sums[i] += (load(a[i]) + load(b[i])) + (load(c[i]) + load(d[i]));
    }
  }
  for (; row < end; ++row) {
    const T* __restrict a = o.rows + row * o.columns;
    for (std::int64_t i = 0; i < o.columns; ++i) sums[i] += load(a[i]);
  }
}

template <typename A>
void running_sums(const RunningSums<A>& o) {
  A* __restrict sum = o.sum;
  for (std::int64_t r = 0; r < o.rows; ++r) {
    const A* __restrict input = o.input + r * o.input_row;
    A* __restrict output = o.output + r * o.output_row;
    const A gain = o.gains == nullptr ? A(1) : o.gains[r * o.gain_row];
    const A factor = o.factors == nullptr ? A(1) : o.factors[r * o.factor_row];
    for (std::int64_t c = 0; c < o.columns; ++c) {
      const A reached = sum[c] + gain * input[c];
      sum[c] = reached;
      output[c] = factor * reached;
    }
  }
}

template <typename A>
void exponential_features(const ExponentialFeatures<A>& o, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) {
    A* __restrict numbers = o.numbers + r * o.columns;
    const A* __restrict input = o.input + r * o.width;
    A square = 0;
    for (std::int64_t c = 0; c < o.width; ++c) square += input[c] * input[c];
    const A stabilizer = o.stabilizer == nullptr ? largest_of(numbers, o.columns) : *o.stabilizer;
    const A shift = o.half * square + stabilizer;
    for (std::int64_t c = 0; c < o.columns; ++c) {
      numbers[c] = (exponential(numbers[c] - shift) + o.epsilon) * o.share;
    }
  }
}

template <typename A>
void exponential_features_backward(const ExponentialFeaturesBackward<A>& o, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const A* __restrict features = o.features + r * o.columns;
    const A* __restrict gradient = o.gradient + r * o.columns;
    A* __restrict to_exponents = o.to_exponents + r * o.columns;
    for (std::int64_t c = 0; c < o.columns; ++c) {
      to_exponents[c] = gradient[c] * (features[c] - o.floor);
    }
    const A factor = -o.factor * sum_of(to_exponents, o.columns);
    const A* __restrict input = o.input + r * o.width;
    A* __restrict to_input = o.to_input + r * o.width;
    for (std::int64_t c = 0; c < o.width; ++c) to_input[c] = factor * input[c];
  }
}

// elu(x) + 1
template <typename A>
void elu_features(const A* __restrict x, A* __restrict features, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    features[i] = exponential(std::min(x[i], A(0))) + std::max(x[i], A(0));
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
