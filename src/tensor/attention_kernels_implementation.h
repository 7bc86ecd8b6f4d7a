// The loops behind attention_kernels.h, included after kernels_implementation.h once per
// instruction set.
#include <limits>
#include <utility>

#include "tensor/attention_kernels.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

#define ROFORMER_INLINE [[gnu::always_inline]] inline

// Exact zeros for what is hidden or too small to count.
template <typename A>
ROFORMER_INLINE A power_of(A x) {
  const A power = exponential(x);
  return x < A(-87) ? A(0) : power;
}

template <typename M, typename T>
void gather(const typename AttentionKernels<M, T>::Gather& o) {
  for (std::int64_t r = 0; r < o.padded_rows; ++r) {
    T* __restrict to = o.to + r * o.padded_width;
    const std::int64_t width = r < o.rows ? o.width : 0;
    const M* __restrict from = o.from + r * o.stride;
    if constexpr (std::is_same_v<M, T>) {
      if (width > 0) std::memcpy(to, from, static_cast<std::size_t>(width) * sizeof(T));
    } else {
      for (std::int64_t c = 0; c < width; ++c) store(to[c], load(from[c]));
    }
    for (std::int64_t c = width; c < o.padded_width; ++c) store(to[c], 0);
  }
}

ROFORMER_INLINE std::uint32_t pair(c10::BFloat16 low, c10::BFloat16 high) {
  return low.x | static_cast<std::uint32_t>(high.x) << 16;
}

template <typename T>
void right(const T* from, std::int64_t rows, std::int64_t width, T* to) {
  if constexpr (std::is_same_v<T, c10::BFloat16>) {
    auto* __restrict pairs = reinterpret_cast<std::uint32_t*>(to);
    for (std::int64_t r = 0; r < rows; r += 2) {
      const T* __restrict a = from + r * width;
      const T* __restrict b = a + width;
      for (std::int64_t c = 0; c < width; ++c) pairs[r / 2 * width + c] = pair(a[c], b[c]);
    }
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(rows * width) * sizeof(T));
  }
}

using Words [[gnu::vector_size(64)]] = std::uint32_t;

// Of rows r and r + step: the halves of each pair of `step` neighbours exchanged.
template <int kStep, int... kLane>
ROFORMER_INLINE void exchange_halves(Words& a, Words& b, std::integer_sequence<int, kLane...>) {
  const Words low =
      __builtin_shufflevector(a, b, ((kLane & kStep) != 0 ? kLane - kStep + 16 : kLane)...);
  b = __builtin_shufflevector(a, b, ((kLane & kStep) != 0 ? kLane + 16 : kLane + kStep)...);
  a = low;
}
template <int kStep>
ROFORMER_INLINE void exchange_rows(Words* rows) {
  for (int r = 0; r < 16; ++r) {
    if ((r & kStep) != 0) continue;
    exchange_halves<kStep>(rows[r], rows[r + kStep], std::make_integer_sequence<int, 16>{});
  }
}

// 16 x 16 words transposed.
ROFORMER_INLINE void transpose_block(const std::uint32_t* from, std::int64_t from_row,
                                     std::uint32_t* to, std::int64_t to_row) {
  Words rows[16];
  for (int r = 0; r < 16; ++r) std::memcpy(&rows[r], from + r * from_row, sizeof(Words));
  exchange_rows<8>(rows);
  exchange_rows<4>(rows);
  exchange_rows<2>(rows);
  exchange_rows<1>(rows);
  for (int r = 0; r < 16; ++r) std::memcpy(to + r * to_row, &rows[r], sizeof(Words));
}

// from [rows, columns] with a stride -> to [columns, rows] with a stride.
template <typename E>
void transpose(const E* from, std::int64_t from_row, E* to, std::int64_t to_row, std::int64_t rows,
               std::int64_t columns) {
  std::int64_t whole_rows = 0, whole_columns = 0;
  if constexpr (sizeof(E) == 4) {
    whole_rows = rows / 16 * 16;
    whole_columns = columns / 16 * 16;
    for (std::int64_t r = 0; r < whole_rows; r += 16) {
      for (std::int64_t c = 0; c < whole_columns; c += 16) {
        transpose_block(reinterpret_cast<const std::uint32_t*>(from + r * from_row + c), from_row,
                        reinterpret_cast<std::uint32_t*>(to + c * to_row + r), to_row);
      }
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      to[c * to_row + r] = from[r * from_row + c];
    }
  }
}

template <typename T>
void right_transposed(const T* from, std::int64_t rows, std::int64_t width, T* to) {
  if constexpr (std::is_same_v<T, c10::BFloat16>) {
    transpose(reinterpret_cast<const std::uint32_t*>(from), width / 2,
              reinterpret_cast<std::uint32_t*>(to), rows, rows, width / 2);
  } else {
    transpose(from, width, to, rows, rows, width);
  }
}

template <typename T>
void left_from_right(const T* from, std::int64_t rows, std::int64_t width, T* to) {
  if constexpr (std::is_same_v<T, c10::BFloat16>) {
    const auto* __restrict pairs = reinterpret_cast<const std::uint32_t*>(from);
    for (std::int64_t r = 0; r < rows; r += 2) {
      T* __restrict low = to + r * width;
      T* __restrict high = low + width;
      for (std::int64_t c = 0; c < width; ++c) {
        const std::uint32_t both = pairs[r / 2 * width + c];
        low[c].x = static_cast<std::uint16_t>(both);
        high[c].x = static_cast<std::uint16_t>(both >> 16);
      }
    }
  } else {
    std::memcpy(to, from, static_cast<std::size_t>(rows * width) * sizeof(T));
  }
}

// Scale and bias of one row.
template <typename A>
ROFORMER_INLINE void finish_scores(const ScoreRows<A>& o, std::int64_t row, A* __restrict scores,
                                   std::int64_t count) {
  if (o.bias == nullptr) {
    for (std::int64_t c = 0; c < count; ++c) scores[c] *= o.scale;
    return;
  }
  const A* __restrict bias = o.bias + row * o.bias_row;
  for (std::int64_t c = 0; c < count; ++c) scores[c] = scores[c] * o.scale + bias[c];
}

template <typename T>
void softmax(const Softmax<T>& o) {
  using A = Accumulate<T>;
  constexpr A kInfinity = std::numeric_limits<A>::infinity();
  for (std::int64_t row = 0; row < o.rows.rows; ++row) {
    A* scores = o.rows.scores + row * o.rows.stride;
    T* powers = o.powers + row * o.rows.stride;
    const std::int64_t count = o.rows.visible(row);
    finish_scores(o.rows, row, scores, count);
    A largest = -kInfinity;
    for (std::int64_t c = 0; c < count; ++c) largest = scores[c] > largest ? scores[c] : largest;
    A total = 0;
    if (largest > -kInfinity) {
      for (std::int64_t c = 0; c < count; ++c) {
        const A power = power_of(scores[c] - largest);
        total += power;
        store(powers[c], power);
      }
    } else {  // everything is hidden, or not a number
      for (std::int64_t c = 0; c < count; ++c) total += scores[c];
      total = total == -kInfinity ? A(0) : total;
      for (std::int64_t c = 0; c < count; ++c) store(powers[c], total);
    }
    for (std::int64_t c = count; c < o.rows.stride; ++c) store(powers[c], 0);
    o.inverse[row] = total == 0 ? A(0) : A(1) / total;
    o.logarithm[row] = total == 0 ? kInfinity : largest + std::log(total);
  }
}

// One row of scores -> probabilities, of their gradient -> the slope of the scores, in place.
template <typename T>
ROFORMER_INLINE void slope_row(const SoftmaxSlope<T>& o, std::int64_t row) {
  using A = Accumulate<T>;
  A* __restrict scores = o.rows.scores + row * o.rows.stride;
  A* __restrict slopes = o.slopes + row * o.rows.stride;
  const std::int64_t count = o.rows.visible(row);
  finish_scores(o.rows, row, scores, count);
  const A logarithm = o.logarithm[row], shift = o.shift[row];
  for (std::int64_t c = 0; c < count; ++c) {
    const A probability = power_of(scores[c] - logarithm);
    scores[c] = probability;
    slopes[c] = probability * (slopes[c] - shift);
  }
  if (o.bias_gradient != nullptr) {
    A* __restrict gradient = o.bias_gradient + row * o.rows.bias_row;
    for (std::int64_t c = 0; c < count; ++c) gradient[c] += slopes[c];
  }
  for (std::int64_t c = 0; c < count; ++c) slopes[c] *= o.rows.scale;
  for (std::int64_t c = count; c < o.rows.stride; ++c) scores[c] = slopes[c] = 0;
}

template <typename T>
void slope(const SoftmaxSlope<T>& o) {
  const std::int64_t stride = o.rows.stride;
  for (std::int64_t row = 0; row < o.rows.rows; ++row) {
    slope_row(o, row);
    if constexpr (std::is_same_v<T, c10::BFloat16>) {
      const float* __restrict slopes = o.slopes + row * stride;
      T* __restrict left = o.left_slopes + row * stride;
      for (std::int64_t c = 0; c < stride; ++c) store(left[c], slopes[c]);
      if (row % 2 == 0 && row + 1 < o.rows.rows) continue;
      // A last row without a neighbour has zeros beside it.
      const bool lonely = row % 2 == 0;
      const std::int64_t first = lonely ? row : row - 1;
      const float* __restrict p = o.rows.scores + first * stride;
      const float* __restrict s = o.slopes + first * stride;
      auto* __restrict to_p =
          reinterpret_cast<std::uint32_t*>(o.right_probabilities) + first / 2 * stride;
      auto* __restrict to_s = reinterpret_cast<std::uint32_t*>(o.right_slopes) + first / 2 * stride;
      for (std::int64_t c = 0; c < stride; ++c) {
        c10::BFloat16 p0, p1, s0, s1;
        store(p0, p[c]);
        store(s0, s[c]);
        store(p1, lonely ? 0 : p[stride + c]);
        store(s1, lonely ? 0 : s[stride + c]);
        to_p[c] = pair(p0, p1);
        to_s[c] = pair(s0, s1);
      }
    }
  }
}

template <typename M, typename T>
void scatter(const typename AttentionKernels<M, T>::Scatter& o) {
  using A = Accumulate<T>;
  for (std::int64_t r = 0; r < o.rows; ++r) {
    const A* __restrict from = o.from + r * o.from_row;
    M* __restrict to = o.to + r * o.to_row;
    const A factor = o.factors == nullptr ? A(1) : o.factors[r];
    for (std::int64_t c = 0; c < o.width; ++c) store(to[c], from[c] * factor);
  }
}

template <typename M, typename T>
void scatter_transposed(const typename AttentionKernels<M, T>::Scatter& o) {
  using A = Accumulate<T>;
  // A few rows at a time, through a buffer of A.
  constexpr std::int64_t kRows = 16, kWidth = 256;
  alignas(64) A buffer[kRows * kWidth];
  for (std::int64_t r = 0; r < o.rows; r += kRows) {
    const std::int64_t rows = o.rows - r < kRows ? o.rows - r : kRows;
    for (std::int64_t c = 0; c < o.width; c += kWidth) {
      const std::int64_t width = o.width - c < kWidth ? o.width - c : kWidth;
      transpose(o.from + c * o.from_row + r, o.from_row, buffer, kWidth, width, rows);
      scatter<M, T>({.from = buffer,
                     .from_row = kWidth,
                     .to = o.to + r * o.to_row + c,
                     .to_row = o.to_row,
                     .rows = rows,
                     .width = width});
    }
  }
}

template <typename M, typename T>
void row_products(const M* a, std::int64_t a_row, const M* b, std::int64_t b_row, std::int64_t rows,
                  std::int64_t width, Accumulate<T>* sums) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const M* __restrict x = a + r * a_row;
    const M* __restrict y = b + r * b_row;
    Accumulate<T> sum = 0;
    for (std::int64_t c = 0; c < width; ++c) sum += load(x[c]) * load(y[c]);
    sums[r] = sum;
  }
}

template <typename M, typename T>
AttentionKernels<M, T> make_attention_kernels() {
  return {.gather = gather<M, T>,
          .right = right<T>,
          .right_transposed = right_transposed<T>,
          .left_from_right = left_from_right<T>,
          .softmax = softmax<T>,
          .slope = slope<T>,
          .scatter = scatter<M, T>,
          .scatter_transposed = scatter_transposed<M, T>,
          .row_products = row_products<M, T>};
}
template AttentionKernels<float, float> make_attention_kernels<float, float>();
template AttentionKernels<double, double> make_attention_kernels<double, double>();
template AttentionKernels<c10::BFloat16, c10::BFloat16>
make_attention_kernels<c10::BFloat16, c10::BFloat16>();
template AttentionKernels<c10::BFloat16, float> make_attention_kernels<c10::BFloat16, float>();

#undef ROFORMER_INLINE

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
