// Sums of pieces of rows, and where they are added. Read by the kernels' compiler, too.
#pragma once

#include <cstdint>

namespace roformer::gpu {

template <typename A>
struct PieceSums {
  const A* sums = nullptr;  // [pieces, columns], the next piece `stride` behind
  std::int64_t pieces = 0;
  std::int64_t stride = 0;
  std::int64_t columns = 0;
  A* to = nullptr;  // [columns], added to; null: not wanted
};

inline constexpr int kMostSums = 3;
template <typename A>
struct AllPieceSums {
  PieceSums<A> each[kMostSums];
};

}  // namespace roformer::gpu
