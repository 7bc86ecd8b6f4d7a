// Products of small matrices that lie in larger ones, from within a thread: the general matrix
// product of the BLAS that LibTorch was built with, without a tensor around each block.
#pragma once

#include <c10/util/BFloat16.h>

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

}  // namespace roformer
