// Softmax attention of a few queries to the keys of one head (FewQueries).
#pragma once

#include "tensor/cpu/attention_loops.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// In halves: one number after the other would each wait for the one before.
template <typename A>
ROFORMER_INLINE A sum_of_lanes(const Lanes<A>& lanes) {
  A numbers[kLanes<A>];
  std::memcpy(numbers, &lanes, sizeof lanes);
  for (std::int64_t half = kLanes<A> / 2; half > 0; half /= 2) {
    for (std::int64_t i = 0; i < half; ++i) numbers[i] += numbers[i + half];
  }
  return numbers[0];
}

template <typename T>
ROFORMER_INLINE Accumulate<T> product_of(const Accumulate<T>* x, const T* y, std::int64_t width) {
  using A = Accumulate<T>;
  Lanes<A> lanes = {}, left, right;
  std::int64_t c = 0;
  for (; c + kLanes<A> <= width; c += kLanes<A>) {
    load_lanes(x + c, left);
    load_lanes(y + c, right);
    lanes += left * right;
  }
  A sum = sum_of_lanes<A>(lanes);
  for (; c < width; ++c) sum += x[c] * load(y[c]);
  return sum;
}

// output = factor * the sum of the value rows times the powers, for `count` times the lanes of
// features, whose sums stay in registers.
template <std::int64_t count, typename T>
ROFORMER_INLINE void add_up_values(const FewQueries<T>& o, const Accumulate<T>* powers,
                                   Accumulate<T> factor, const T* value, T* output) {
  using A = Accumulate<T>;
  Lanes<A> sums[count] = {}, row;
  for (std::int64_t k = 0; k < o.keys; ++k) {
    for (std::int64_t i = 0; i < count; ++i) {
      load_lanes(value + k * o.value_row + i * kLanes<A>, row);
      sums[i] += powers[k] * row;
    }
  }
  A numbers[count * kLanes<A>];
  for (std::int64_t i = 0; i < count; ++i) {
    sums[i] *= factor;
    std::memcpy(numbers + i * kLanes<A>, &sums[i], sizeof sums[i]);
  }
  store_row(numbers, output, count * kLanes<A>);
}

template <typename T>
void attend_few(const FewQueries<T>& o) {
  using A = Accumulate<T>;
  for (std::int64_t q = 0; q < o.queries; ++q) {
    const A* const query = o.query + q * o.query_row;
    for (std::int64_t k = 0; k < o.keys; ++k) {
      o.scores[k] = product_of(query, o.key + k * o.key_row, o.width);
    }
    A factor, logarithm;
    softmax<A>({.rows = {.scores = o.scores,
                         .bias = o.additive == nullptr ? nullptr : o.additive + q * o.additive_row,
                         .scale = o.scale,
                         .rows = 1,
                         .columns = o.keys,
                         .padded = o.keys},
                .powers = o.scores,
                .inverse = &factor,
                .logarithm = &logarithm});
    T* const output = o.output + q * o.output_row;
    std::int64_t c = 0;
    for (; c + 4 * kLanes<A> <= o.width; c += 4 * kLanes<A>) {
      add_up_values<4>(o, o.scores, factor, o.value + c, output + c);
    }
    for (; c + kLanes<A> <= o.width; c += kLanes<A>) {
      add_up_values<1>(o, o.scores, factor, o.value + c, output + c);
    }
    for (; c < o.width; ++c) {
      A sum = 0;
      for (std::int64_t k = 0; k < o.keys; ++k) {
        sum += o.scores[k] * load(o.value[k * o.value_row + c]);
      }
      store(output[c], sum * factor);
    }
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
