// Numbers of a row in lanes: the largest of some, and their sum.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "tensor/kernel_arithmetic.h"

namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE {

// As many numbers as 64 bytes hold, whatever the instruction set: what is summed in lanes is summed
// in the same order on each.
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

// The largest of some numbers; what is not a number is passed over. In lanes by hand: the
// vectoriser takes a largest number only where there may be none that is not one.
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

}  // namespace roformer::kernels::ROFORMER_KERNELS_NAMESPACE
