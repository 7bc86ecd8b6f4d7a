// The loops of attention between its matrix products, for CPUs: packing of operands, the softmax of
// a row of scores and its slope. Compiled once per instruction set like the loops of kernels.h;
// nothing here knows tensors or threads. M is the type in memory, T that of the products' operands
// (float for bfloat16 memory where the processor does not multiply bfloat16), A that of their sums.
//
// A left operand is a plain row-major matrix. A right operand [K, N] of bfloat16 has its rows in
// pairs: the numbers of rows 2k and 2k + 1 in a column lie side by side. Others are plain.
#pragma once

#include <cstdint>

#include "tensor/kernels.h"

namespace roformer::kernels {

// Rows of scores that become probabilities. Row r sees its first visible(r) columns.
template <typename A>
struct ScoreRows {
  A* scores = nullptr;        // [rows, stride], before scale and bias; overwritten
  std::int64_t stride = 0;    // columns from visible(r) on become 0
  const A* bias = nullptr;    // of row 0, -infinity hides; or null
  std::int64_t bias_row = 0;  // stride between its rows
  A scale = 1;
  std::int64_t rows = 0;
  std::int64_t first_row = 0;  // the position of row 0
  std::int64_t length = 0;     // columns
  bool causal = false;

  std::int64_t visible(std::int64_t row) const {
    return causal && first_row + row + 1 < length ? first_row + row + 1 : length;
  }
};

template <typename T>
struct Softmax {
  using A = Accumulate<T>;
  ScoreRows<A> rows;
  T* powers = nullptr;   // [rows, stride]: exp(score - largest), a left operand; may be the scores
  A* inverse = nullptr;  // [rows] 1 / sum of the powers; 0 where everything is hidden
  A* logarithm = nullptr;  // [rows] log of the sum of exp(score); infinity where all is hidden
};

// Recomputes the probabilities from their logarithm and makes the slope of the scores.
template <typename T>
struct SoftmaxSlope {
  using A = Accumulate<T>;
  ScoreRows<A> rows;
  A* slopes = nullptr;           // [rows, stride]: gradient of the probabilities; overwritten
  const A* logarithm = nullptr;  // [rows]
  const A* shift = nullptr;      // [rows] sum of output * its gradient
  A* bias_gradient = nullptr;    // of row 0, rows as the bias's: added to; or null
  // Results; for float and double the same memory as scores and slopes.
  T* right_probabilities = nullptr;  // [rows, stride] right operand
  T* right_slopes = nullptr;         // [rows, stride] right operand, times scale
  T* left_slopes = nullptr;          // [rows, stride] left operand, times scale
};

template <typename M, typename T>
struct AttentionKernels {
  using A = Accumulate<T>;
  // [rows, width] with a stride -> [padded rows, padded width], zeros around.
  struct Gather {
    const M* from = nullptr;
    std::int64_t stride = 0, rows = 0, width = 0;
    T* to = nullptr;
    std::int64_t padded_rows = 0, padded_width = 0;
  };
  void (*gather)(const Gather&);
  // [rows, width] -> the right operand [rows, width] of the same numbers.
  void (*right)(const T* from, std::int64_t rows, std::int64_t width, T* to);
  // [rows, width] -> the right operand [width, rows] of the transposed matrix, and from that one
  // the left operand.
  void (*right_transposed)(const T* from, std::int64_t rows, std::int64_t width, T* to);
  void (*left_from_right)(const T* from, std::int64_t rows, std::int64_t width, T* to);
  void (*softmax)(const Softmax<T>&);
  void (*slope)(const SoftmaxSlope<T>&);
  // to[r, c] = from[r, c] * factors[r]
  struct Scatter {
    const A* from = nullptr;
    std::int64_t from_row = 0;
    const A* factors = nullptr;  // or null
    M* to = nullptr;
    std::int64_t to_row = 0, rows = 0, width = 0;
  };
  void (*scatter)(const Scatter&);
  void (*scatter_transposed)(const Scatter&);  // from[c, r]
  // sums[r] = sum of a[r, c] * b[r, c]
  void (*row_products)(const M* a, std::int64_t a_row, const M* b, std::int64_t b_row,
                       std::int64_t rows, std::int64_t width, A* sums);
};

// The loops of the best instruction set of this processor.
template <typename M, typename T>
const AttentionKernels<M, T>& attention_kernels();

}  // namespace roformer::kernels
