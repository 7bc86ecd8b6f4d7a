// In which numbers of rows products are made, of bfloat16 on a CPU and all on a GPU: oneDNN compiles
// each for its numbers of rows and columns, for half a millisecond, and cuBLAS chooses one, for up to
// three (H200: 6 of the 13 ms of a traced step of a small encoder). The number of tokens or targets is
// another one in every step.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

namespace roformer {

// Training's have a multiple of this many.
inline constexpr std::int64_t kRowsTogether = 64;

inline std::int64_t in_whole_products(std::int64_t rows) {
  return (rows + kRowsTogether - 1) / kRowsTogether * kRowsTogether;
}

// The next of the few numbers that inference's have: eight steps to each power of two, and from
// there on multiples of kRowsTogether.
inline std::int64_t row_count_for(std::int64_t rows) {
  const auto ceiling = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows)));
  const std::int64_t step = std::clamp<std::int64_t>(ceiling / 8, 1, kRowsTogether);
  return (rows + step - 1) / step * step;
}

}  // namespace roformer
