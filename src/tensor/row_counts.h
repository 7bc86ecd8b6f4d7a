// In which numbers of rows products of bfloat16 are made on a CPU: oneDNN compiles each for its
// numbers of rows and columns, for half a millisecond, and the number of tokens or targets is
// another one in every step.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace roformer {

// Training's have a multiple of this many.
inline constexpr std::int64_t kRowsTogether = 64;

// The next of the few numbers that inference's have: eight steps to each power of two, and from
// there on multiples of kRowsTogether.
inline std::int64_t row_count_for(std::int64_t rows) {
  const auto ceiling = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows)));
  const std::int64_t step = std::clamp<std::int64_t>(ceiling / 8, 1, kRowsTogether);
  return (rows + step - 1) / step * step;
}

}  // namespace roformer
