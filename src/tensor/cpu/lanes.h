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

// The width of a register. GCC 12 compares vectors wider than that number by number, and keeps them
// in memory.
#if defined(__AVX512F__)
inline constexpr std::int64_t kRegisterBytes = 64;
#elif defined(__AVX2__)
inline constexpr std::int64_t kRegisterBytes = 32;
#else
inline constexpr std::int64_t kRegisterBytes = 16;
#endif

template <typename A>
inline constexpr std::int64_t kLanes = 64 / sizeof(A);

// 64 bytes of numbers on every instruction set, so that all sum in the same lanes (the compiler may
// still reorder the sum within a lane): one register or several.
template <typename A>
struct Lanes {
  typedef A Register __attribute__((vector_size(kRegisterBytes)));
  static constexpr int kRegisters = 64 / kRegisterBytes;

  Register registers[kRegisters];

  // Replaces each register by function(register, the same one of `other`).
  template <typename Function>
  ROFORMER_INLINE Lanes& combine(const Lanes& other, const Function& function) {
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) registers[i] = function(registers[i], other.registers[i]);
    return *this;
  }
  ROFORMER_INLINE Lanes& operator+=(const Lanes& other) {
    return combine(other, [](Register a, Register b) { return a + b; });
  }
  ROFORMER_INLINE Lanes& add_product(const Lanes& a, const Lanes& b) {
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) registers[i] += a.registers[i] * b.registers[i];
    return *this;
  }
  ROFORMER_INLINE Lanes& add_product(A factor, const Lanes& a) {
#pragma GCC unroll 4
    for (int i = 0; i < kRegisters; ++i) registers[i] += factor * a.registers[i];
    return *this;
  }
};

template <typename A>
ROFORMER_INLINE void load_lanes(const A* numbers, Lanes<A>& lanes) {
#pragma GCC unroll 4
  for (auto& to : lanes.registers) {
    std::memcpy(&to, numbers, sizeof to);
    numbers += sizeof to / sizeof *numbers;
  }
}
ROFORMER_INLINE void load_lanes(const c10::BFloat16* numbers, Lanes<float>& lanes) {
  typedef std::uint16_t Narrow __attribute__((vector_size(kRegisterBytes / 2)));
  typedef std::uint32_t Wide __attribute__((vector_size(kRegisterBytes)));
#pragma GCC unroll 4
  for (auto& to : lanes.registers) {
    Narrow narrow;
    std::memcpy(&narrow, numbers, sizeof narrow);
    const Wide bits = __builtin_convertvector(narrow, Wide) << 16;
    std::memcpy(&to, &bits, sizeof to);
    numbers += sizeof narrow / sizeof *numbers;
  }
}
template <typename A>
ROFORMER_INLINE void store_lanes(const Lanes<A>& lanes, A* numbers) {
#pragma GCC unroll 4
  for (const auto from : lanes.registers) {
    std::memcpy(numbers, &from, sizeof from);
    numbers += sizeof from / sizeof *numbers;
  }
}

// The largest number; NaN is skipped. Written with lanes because the vectoriser does not handle a
// maximum of numbers that may be NaN.
template <typename T>
ROFORMER_INLINE Accumulate<T> largest_of(const T* numbers, std::int64_t count) {
  using A = Accumulate<T>;
  using Register = typename Lanes<A>::Register;
  A most = -std::numeric_limits<A>::infinity();
  Lanes<A> largest, values;
  for (Register& all : largest.registers) all = Register{} + most;
  std::int64_t c = 0;
  for (; c + kLanes<A> <= count; c += kLanes<A>) {
    load_lanes(numbers + c, values);
    largest.combine(values, [](Register a, Register b) { return b > a ? b : a; });
  }
  for (; c < count; ++c) most = load(numbers[c]) > most ? load(numbers[c]) : most;
  A last[kLanes<A>];
  store_lanes(largest, last);
  for (const A number : last) most = number > most ? number : most;
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
  A last[kLanes<A>];
  store_lanes(sums, last);
  for (const A number : last) sum += number;
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
