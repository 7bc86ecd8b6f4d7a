// Residual, bias, dropout and norm in one pass.
#pragma once

#include "tensor/cpu/lanes.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

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
        // Without a bias or a residual the sum starts from the parts that are there.
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

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
