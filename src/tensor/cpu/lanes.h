// Rows in vector lanes: largest number, sum, and rounding to a narrower type.
#pragma once

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "tensor/kernel_arithmetic.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// 64 bytes of numbers on every instruction set, so that all sum in the same lanes (the compiler may
// still reorder the sum within a lane).
template <typename A>
struct LanesOf {
  typedef A type __attribute__((vector_size(64)));
};
template <typename A>
using Lanes = typename LanesOf<A>::type;
template <typename A>
inline constexpr std::int64_t kLanes = 64 / sizeof(A);

template <typename A>
ROFORMER_INLINE void load_lanes(const A* numbers, Lanes<A>& lanes) {
  std::memcpy(&lanes, numbers, sizeof lanes);
}
ROFORMER_INLINE void load_lanes(const c10::BFloat16* numbers, Lanes<float>& lanes) {
  typedef std::uint16_t Narrow __attribute__((vector_size(32)));
  Narrow narrow;
  std::memcpy(&narrow, numbers, sizeof narrow);
  const Lanes<std::uint32_t> bits = __builtin_convertvector(narrow, Lanes<std::uint32_t>) << 16;
  std::memcpy(&lanes, &bits, sizeof lanes);
}

// The largest number; NaN is skipped. Written with lanes because the vectoriser does not handle a
// maximum of numbers that may be NaN.
template <typename T>
ROFORMER_INLINE Accumulate<T> largest_of(const T* numbers, std::int64_t count) {
  using A = Accumulate<T>;
  Lanes<A> largest = Lanes<A>{} - std::numeric_limits<A>::infinity(), values;
  std::int64_t c = 0;
  for (; c + kLanes<A> <= count; c += kLanes<A>) {
    load_lanes(numbers + c, values);
    largest = values > largest ? values : largest;
  }
  A most = -std::numeric_limits<A>::infinity();
  for (; c < count; ++c) most = load(numbers[c]) > most ? load(numbers[c]) : most;
  for (std::int64_t i = 0; i < kLanes<A>; ++i) most = largest[i] > most ? largest[i] : most;
  return most;
}

template <typename T>
ROFORMER_INLINE Accumulate<T> sum_of(const T* numbers, std::int64_t count) {
  using A = Accumulate<T>;
  Lanes<A> sums = {}, values;
  std::int64_t c = 0;
  for (; c + kLanes<A> <= count; c += kLanes<A>) {
    load_lanes(numbers + c, values);
    sums += values;
  }
  A sum = 0;
  for (; c < count; ++c) sum += load(numbers[c]);
  for (std::int64_t i = 0; i < kLanes<A>; ++i) sum += sums[i];
  return sum;
}

// Rounds to T if T is narrower.
template <typename T>
ROFORMER_INLINE void store_row(const Accumulate<T>* __restrict from, T* __restrict to,
                               std::int64_t count) {
  for (std::int64_t c = 0; c < count; ++c) store(to[c], from[c]);
}
#if defined(__AVX512BF16__)
// Rounds with the processor's instruction, which rounds denormal numbers to zero.
ROFORMER_INLINE void store_row(const float* __restrict from, c10::BFloat16* __restrict to,
                               std::int64_t count) {
  std::int64_t c = 0;
  for (; c + kLanes<float> <= count; c += kLanes<float>) {
    const __m256bh narrow = _mm512_cvtneps_pbh(_mm512_loadu_ps(from + c));
    std::memcpy(to + c, &narrow, sizeof narrow);
  }
  if (c == count) return;
  const auto rest = static_cast<__mmask16>((1u << (count - c)) - 1);
  const __m256bh narrow = _mm512_cvtneps_pbh(_mm512_maskz_loadu_ps(rest, from + c));
  __m256i bits;
  std::memcpy(&bits, &narrow, sizeof bits);
  _mm256_mask_storeu_epi16(to + c, rest, bits);
}
#endif

// Where the numbers of a row are computed: in the row itself, or in a buffer if they must be
// rounded at the end.
template <typename T, std::int64_t most>
class RowResult {
 public:
  using A = Accumulate<T>;
  static constexpr bool kInPlace = std::is_same_v<A, T>;

  ROFORMER_INLINE A* begin(T* row) {
    if constexpr (kInPlace) {
      return row;
    } else {
      return numbers_;
    }
  }
  ROFORMER_INLINE void end(T* row, std::int64_t count) {
    if constexpr (!kInPlace) store_row(numbers_, row, count);
  }

 private:
  A numbers_[kInPlace ? 1 : most];
};

// Calls function(begin, count) for parts of a row. ROFORMER_INLINED makes the lambda inline.
#define ROFORMER_INLINED __attribute__((always_inline))
inline constexpr std::int64_t kPart = 256;
template <typename Function>
ROFORMER_INLINE void for_parts(std::int64_t columns, const Function& function) {
  for (std::int64_t begin = 0; begin < columns; begin += kPart) {
    function(begin, std::min(kPart, columns - begin));
  }
}

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
