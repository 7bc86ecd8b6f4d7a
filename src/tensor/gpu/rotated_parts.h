// Parts of rows, queries, keys and values, that are rotated by one launch. Read by the kernels'
// compiler, too.
#pragma once

#include <cstdint>

#include "tensor/kernels.h"

namespace roformer::gpu {

inline constexpr std::int64_t kMostParts = 3;
inline constexpr int kRotateThreads = 256;  // of a block, at most

template <typename T>
struct RotatedParts {
  kernels::Rotate<T> parts[kMostParts];
  // Of each part [groups of threads, heads * width]: what the rows that a group goes through sum
  // to. Null: not wanted.
  kernels::Accumulate<T>* sums[kMostParts] = {};
};

}  // namespace roformer::gpu
