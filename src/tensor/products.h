// Products of small matrices that lie in larger ones, from within a thread: the general matrix
// product of the BLAS that LibTorch was built with, without a tensor around each block.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "tensor/kernels.h"

namespace roformer {

// A row-major matrix, or the transposed one of a row-major matrix.
template <typename T>
struct Operand {
  const T* data = nullptr;
  std::int64_t row = 0;  // stride between rows in memory
  bool transposed = false;
};

// product [m, n] = a [m, k] * b [k, n], or added to it. T is float, double or bfloat16, whose
// sums are float.
template <typename T>
struct BlockProduct {
  using A = kernels::Accumulate<T>;
  std::int64_t m = 0, n = 0, k = 0;
  Operand<T> a, b;
  A* product = nullptr;
  std::int64_t product_row = 0;
  bool add = false;
};
template <typename T>
void multiply(const BlockProduct<T>& block);

// Whether LibTorch's BLAS can be called so for float and double, and for bfloat16 at the speed of
// the processor's instructions for it (AMX, avx512_bf16: a step in bf16 takes 0.89 of the time on
// an AMD Zen 4 with them, base size and small). Where it cannot, multiply() must not be called.
bool has_block_products();
bool has_bfloat16_block_products();

// Products of bfloat16 tiles by the kernels that oneDNN compiles for AMX, one call each from within
// a thread: next to nothing is decided or copied in a call, so that small tiles are fast. The right
// operand must lie in pairs of rows: row 2r and 2r+1 of a column side by side.

// product [m, n] = a [m, k] * b [k, n], or added to it. Each combination of numbers is compiled
// when it is first met, within a millisecond or so: callers keep to few of them.
struct TileProduct {
  std::int64_t m = 0, n = 0, k = 0;  // k is even
  const c10::BFloat16* a = nullptr;
  std::int64_t a_row = 0;  // stride between rows
  const c10::BFloat16* b = nullptr;
  std::int64_t b_row = 0;  // pairs: [k / 2, b_row, 2]
  float* product = nullptr;
  std::int64_t product_row = 0;
  bool add = false;
};
void multiply(const TileProduct& tile);

// Whether this LibTorch has them and this processor AMX.
bool has_tile_products();

// Gives up the thread's tile registers; at the end of its part of the work.
void release_tiles();

// In which numbers of rows products are made, of bfloat16 on a CPU and all on a GPU: oneDNN
// compiles each for its numbers of rows and columns, for half a millisecond, and cuBLAS chooses
// one, for up to three (H200: 6 of the 13 ms of a traced step of a small encoder). The number of
// tokens or targets is another one in every step.

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

// Products that are added to a gradient which is there.

// total [M, N] += a^T b of a [K, M] and b [K, N], both of one type. The total may be float where
// they are bfloat16: then the sums are float, without a rounding of the product where the
// processor has matrix instructions, else after one.
void add_transposed_product(const at::Tensor& total, const at::Tensor& a, const at::Tensor& b);

}  // namespace roformer
