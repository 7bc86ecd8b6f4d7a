// Matrix products that LibTorch does not offer: on blocks of larger matrices and on AMX tiles, from
// within a thread, and sums of products into an existing gradient.
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

// product [m, n] = a [m, k] * b [k, n], or added to it, by the BLAS that LibTorch was built with. T
// is float, double or bfloat16 (with sums in float).
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

// Whether multiply() may be called for float and double, and for bfloat16: only if the processor
// has instructions for it (AMX, avx512_bf16; on an AMD Zen 4 a step in bf16 takes 0.89 times as
// long with them).
bool has_block_products();
bool has_bfloat16_block_products();

// A product of bfloat16 tiles by the kernels that oneDNN compiles for AMX: product [m, n] =
// a [m, k] * b [k, n], or added to it. `b` holds rows 2r and 2r+1 of a column side by side. oneDNN
// compiles each combination of sizes on first use, in about a millisecond: callers use few.
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

// Whether this LibTorch has these kernels and this processor AMX.
bool has_tile_products();

// Releases the thread's tile registers, at the end of its work.
void release_tiles();

// The number of tokens differs from step to step, and each new number of rows costs time: oneDNN
// compiles a bfloat16 kernel (half a millisecond), cuBLAS chooses one (up to three; on an H200 6 of
// the 13 ms of a traced step of a small encoder). Products are therefore made in few row counts.

// Training uses multiples of this many rows.
inline constexpr std::int64_t kRowsTogether = 64;

inline std::int64_t in_whole_products(std::int64_t rows) {
  return (rows + kRowsTogether - 1) / kRowsTogether * kRowsTogether;
}

// Inference rounds up to eight steps for each power of two, and to multiples of kRowsTogether
// beyond 512.
inline std::int64_t row_count_for(std::int64_t rows) {
  const auto ceiling = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(rows)));
  const std::int64_t step = std::clamp<std::int64_t>(ceiling / 8, 1, kRowsTogether);
  return (rows + step - 1) / step * step;
}

// total [M, N] += a^T b for a [K, M] and b [K, N] of one type. With bfloat16 operands the total may
// be float; the product is then not rounded before it is added if the processor has matrix
// instructions.
void add_transposed_product(const at::Tensor& total, const at::Tensor& a, const at::Tensor& b);

}  // namespace roformer
