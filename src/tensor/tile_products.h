// Products of bfloat16 tiles by the kernels that oneDNN compiles for AMX, one call each from within
// a thread: next to nothing is decided or copied in a call, so that small tiles are fast. The right
// operand must lie in pairs of rows: row 2r and 2r+1 of a column side by side.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>

namespace roformer {

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

}  // namespace roformer
