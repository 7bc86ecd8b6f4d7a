// The loops of attention between its matrix products (attention_kernels.h).
#pragma once

#include "tensor/attention_kernels.h"
#include "tensor/cpu/lanes.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// exp(x) for x <= 0, exactly 0 below -87. The bit mask replaces a choice between two numbers, for
// which the compiler would branch.
ROFORMER_INLINE float power_of(float x) {
  float power = exponential_within(x);
  std::int32_t bits;
  std::memcpy(&bits, &power, sizeof bits);
  bits &= static_cast<std::int32_t>(x < -87.0f) - 1;
  std::memcpy(&power, &bits, sizeof power);
  return power;
}
ROFORMER_INLINE double power_of(double x) {
  return x < -87.0 ? 0.0 : exponential_within(x);
}

template <typename From, typename To>
void move_rows(const MovedRows<From, To>& o) {
  using A = Accumulate<From>;
  for (std::int64_t r = 0; r < o.rows; ++r) {
    const From* __restrict from = o.from + r * o.from_row;
    To* __restrict to = o.to + r * o.to_row;
    const A factor = o.factors == nullptr ? A(1) : o.factors[r];
    for_parts(o.width, [&](std::int64_t begin, std::int64_t count) ROFORMER_INLINED {
      RowResult<To, kPart> result;
      Accumulate<To>* const moved = result.begin(to + begin);
      for (std::int64_t c = 0; c < count; ++c) moved[c] = load(from[begin + c]) * factor;
      result.end(to + begin, count);
    });
  }
}

// Applies scale and bias to a row of scores, if there is a bias. Returns the factor that the scores
// still need: without a bias the scale is applied where they are read next.
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
    A* const scores = o.rows.scores + row * o.rows.row;
    T* const powers = o.powers + row * o.rows.row;
    const std::int64_t count = o.rows.visible(row);
    const A factor = finish_scores(o.rows, row, scores, count);
    const A largest = largest_of(scores, count) * factor;
    // A row with only hidden keys stays zero; NaN stays NaN.
    const A shift = largest > -kInfinity ? largest : A(0);
    A total = 0;
    for_parts(count, [&](std::int64_t begin, std::int64_t part) ROFORMER_INLINED {
      const A* const from = scores + begin;
      RowResult<T, kPart> results;
      A* const result = results.begin(powers + begin);
      // The powers may overwrite the scores, each number in its place.
#pragma GCC ivdep
      for (std::int64_t c = 0; c < part; ++c) result[c] = power_of(from[c] * factor - shift);
      total += sum_of(result, part);
      results.end(powers + begin, part);
    });
    for (std::int64_t c = count; c < o.rows.padded; ++c) store(powers[c], 0);
    o.inverse[row] = total == 0 ? A(0) : A(1) / total;
    o.logarithm[row] = total == 0 ? kInfinity : largest + std::log(total);
  }
}

// The sum of a row's probabilities times their gradients.
template <typename A>
ROFORMER_INLINE A sum_of_slopes(const A* scores, const A* gradients, std::int64_t count, A factor,
                                A logarithm) {
  A sum = 0;
  for_parts(count, [&](std::int64_t first, std::int64_t part) ROFORMER_INLINED {
    A products[kPart];
    for (std::int64_t c = 0; c < part; ++c) {
      products[c] = power_of(scores[first + c] * factor - logarithm) * gradients[first + c];
    }
    sum += sum_of(products, part);
  });
  return sum;
}

template <typename T>
void slope(const SoftmaxSlope<T>& o) {
  using A = Accumulate<T>;
  for (std::int64_t row = 0; row < o.rows.rows; ++row) {
    const std::int64_t begin = row * o.rows.row, count = o.rows.visible(row);
    A* const scores = o.rows.scores + begin;
    T* const probabilities = o.probabilities + begin;
    T* const slopes = o.slopes + begin;
    const A factor = finish_scores(o.rows, row, scores, count);
    const A logarithm = o.logarithm[row], scale = o.rows.scale;
    const A shift = o.shift != nullptr
                        ? o.shift[row]
                        : sum_of_slopes(scores, o.gradients + begin, count, factor, logarithm);
    for_parts(count, [&](std::int64_t first, std::int64_t part) ROFORMER_INLINED {
      const A* const score = scores + first;
      const A* const gradient = o.gradients + begin + first;
      RowResult<T, kPart> made_probabilities, made_slopes;
      A* const probability = made_probabilities.begin(probabilities + first);
      A* const slope = made_slopes.begin(slopes + first);
      // The results may overwrite the scores and gradients, each number in its place.
      if (o.bias_gradient == nullptr) {
#pragma GCC ivdep
        for (std::int64_t c = 0; c < part; ++c) {
          const A power = power_of(score[c] * factor - logarithm);
          slope[c] = power * (gradient[c] - shift) * scale;
          probability[c] = power;
        }
      } else {
        A* __restrict bias_gradient = o.bias_gradient + row * o.bias_gradient_row + first;
#pragma GCC ivdep
        for (std::int64_t c = 0; c < part; ++c) {
          const A power = power_of(score[c] * factor - logarithm);
          const A of_bias = power * (gradient[c] - shift);
          bias_gradient[c] += of_bias;
          slope[c] = of_bias * scale;
          probability[c] = power;
        }
      }
      made_probabilities.end(probabilities + first, part);
      made_slopes.end(slopes + first, part);
    });
    for (std::int64_t c = count; c < o.rows.padded; ++c) {
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
      lanes.add_product(left, right);
    }
    A sum = 0;
    for (; c < width; ++c) sum += load(x[c]) * load(y[c]);
    A last[kLanes<A>];
    store_lanes(lanes, last);
    for (const A number : last) sum += number;
    sums[r] = sum;
  }
}

// By halves: summed one after the other, each number would wait for the previous sum.
template <typename A>
ROFORMER_INLINE A sum_of_lanes(const Lanes<A>& lanes) {
  A numbers[kLanes<A>];
  store_lanes(lanes, numbers);
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
    lanes.add_product(left, right);
  }
  A sum = sum_of_lanes<A>(lanes);
  for (; c < width; ++c) sum += x[c] * load(y[c]);
  return sum;
}

// output = factor * sum of power * value row, for `count` vectors of features, whose sums stay in
// registers.
template <std::int64_t count, typename T>
ROFORMER_INLINE void add_up_values(const FewQueries<T>& o, const Accumulate<T>* powers,
                                   Accumulate<T> factor, const T* value, T* output) {
  using A = Accumulate<T>;
  Lanes<A> sums[count] = {}, row;
  for (std::int64_t k = 0; k < o.keys; ++k) {
    for (std::int64_t i = 0; i < count; ++i) {
      load_lanes(value + k * o.value_row + i * kLanes<A>, row);
      sums[i].add_product(powers[k], row);
    }
  }
  A numbers[count * kLanes<A>];
  for (std::int64_t i = 0; i < count; ++i) {
    store_lanes(sums[i], numbers + i * kLanes<A>);
  }
  for (A& number : numbers) number *= factor;
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
