// The loops of attention between its matrix products (attention_kernels.h).
#pragma once

#include "tensor/attention_kernels.h"
#include "tensor/cpu/lanes.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// Exact zeros for what is hidden or too small to count.
template <typename A>
ROFORMER_INLINE A power_of(A x) {
  const A power = exponential(x);
  return x < A(-87) ? A(0) : power;
}

template <typename From, typename To>
void move_rows(const MovedRows<From, To>& o) {
  using A = Accumulate<From>;
  for (std::int64_t r = 0; r < o.rows; ++r) {
    const From* __restrict from = o.from + r * o.from_row;
    To* __restrict to = o.to + r * o.to_row;
    const A factor = o.factors == nullptr ? A(1) : o.factors[r];
    for (std::int64_t c = 0; c < o.width; ++c) store(to[c], load(from[c]) * factor);
  }
}

// What the scores of one row still lack: scores * factor + bias. Scores that have a bias get both
// at once and lack nothing then; the others get their scale where they are next needed.
template <typename A>
ROFORMER_INLINE A finish_scores(const ScoreRows<A>& o, std::int64_t row, A* __restrict scores,
                                std::int64_t count) {
  if (o.bias == nullptr && o.scale > 0) return o.scale;
  if (o.bias == nullptr) {
    for (std::int64_t c = 0; c < count; ++c) scores[c] *= o.scale;
    return A(1);
  }
  const A* __restrict bias = o.bias + row * o.bias_row;
  for (std::int64_t c = 0; c < count; ++c) scores[c] = scores[c] * o.scale + bias[c];
  return A(1);
}

template <typename T>
void softmax(const Softmax<T>& o) {
  using A = Accumulate<T>;
  constexpr A kInfinity = std::numeric_limits<A>::infinity();
  for (std::int64_t row = 0; row < o.rows.rows; ++row) {
    A* __restrict scores = o.rows.scores + row * o.rows.columns;
    T* const powers = o.powers + row * o.rows.columns;
    const std::int64_t count = o.rows.visible(row);
    const A factor = finish_scores(o.rows, row, scores, count);
    const A largest = largest_of(scores, count) * factor;
    if (largest > -kInfinity) {
      for (std::int64_t c = 0; c < count; ++c) scores[c] = power_of(scores[c] * factor - largest);
    } else {  // everything is hidden, or not a number
      for (std::int64_t c = 0; c < count; ++c) scores[c] = scores[c] == -kInfinity ? 0 : scores[c];
    }
    const A total = sum_of(scores, count);
    if constexpr (!std::is_same_v<A, T>) {
      T* __restrict narrow = powers;
      for (std::int64_t c = 0; c < count; ++c) store(narrow[c], scores[c]);
    }
    for (std::int64_t c = count; c < o.rows.columns; ++c) store(powers[c], 0);
    o.inverse[row] = total == 0 ? A(0) : A(1) / total;
    o.logarithm[row] = total == 0 ? kInfinity : largest + std::log(total);
  }
}

template <typename T>
void slope(const SoftmaxSlope<T>& o) {
  using A = Accumulate<T>;
  for (std::int64_t row = 0; row < o.rows.rows; ++row) {
    const std::int64_t begin = row * o.rows.columns, count = o.rows.visible(row);
    A* scores = o.rows.scores + begin;
    A* gradients = o.gradients + begin;
    T* probabilities = o.probabilities + begin;
    T* slopes = o.slopes + begin;
    const A factor = finish_scores(o.rows, row, scores, count);
    const A logarithm = o.logarithm[row], shift = o.shift[row], scale = o.rows.scale;
    // The results may lie where the scores and gradients did, number upon number.
    if (o.bias_gradient == nullptr) {
#pragma GCC ivdep
      for (std::int64_t c = 0; c < count; ++c) {
        const A probability = power_of(scores[c] * factor - logarithm);
        const A gradient = gradients[c];
        store(probabilities[c], probability);
        store(slopes[c], probability * (gradient - shift) * scale);
      }
    } else {
      A* __restrict bias_gradient = o.bias_gradient + row * o.bias_gradient_row;
#pragma GCC ivdep
      for (std::int64_t c = 0; c < count; ++c) {
        const A probability = power_of(scores[c] * factor - logarithm);
        const A gradient = probability * (gradients[c] - shift);
        bias_gradient[c] += gradient;
        store(probabilities[c], probability);
        store(slopes[c], gradient * scale);
      }
    }
    for (std::int64_t c = count; c < o.rows.columns; ++c) {
      store(probabilities[c], 0);
      store(slopes[c], 0);
    }
  }
}

template <typename M, typename T>
void row_products(const M* a, std::int64_t a_row, const M* b, std::int64_t b_row, std::int64_t rows,
                  std::int64_t width, Accumulate<T>* sums) {
  using A = Accumulate<T>;
  for (std::int64_t r = 0; r < rows; ++r) {
    const M* const x = a + r * a_row;
    const M* const y = b + r * b_row;
    Lanes<A> lanes = {}, left, right;
    std::int64_t c = 0;
    for (; c + kLanes<A> <= width; c += kLanes<A>) {
      load_lanes(x + c, left);
      load_lanes(y + c, right);
      lanes += left * right;
    }
    A sum = 0;
    for (; c < width; ++c) sum += load(x[c]) * load(y[c]);
    for (std::int64_t i = 0; i < kLanes<A>; ++i) sum += lanes[i];
    sums[r] = sum;
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
