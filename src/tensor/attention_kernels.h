// The loops of attention between its matrix products, for CPUs: the softmax of rows of scores and
// its slope. Compiled once per instruction set like the loops of kernels.h; nothing here knows
// tensors or threads. M is the type in memory, T that of the products' operands (float for bfloat16
// memory where the processor does not multiply bfloat16), A that of their sums.
#pragma once

#include <cstdint>

#include "tensor/kernels.h"

namespace roformer::kernels {

// Rows of scores that become probabilities. Row r sees its first visible(r) columns.
template <typename A>
struct ScoreRows {
  A* scores = nullptr;        // [rows, columns], before scale and bias; overwritten
  std::int64_t row = 0;       // stride between rows, also those of all that lies beside the scores
  const A* bias = nullptr;    // of row 0, -infinity hides; or null
  std::int64_t bias_row = 0;  // stride between its rows; 0: all have the same
  A scale = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t padded = 0;     // columns and more: from visible(r) up to here they become 0
  std::int64_t first_row = 0;  // the position of row 0 among the columns
  bool causal = false;

  std::int64_t visible(std::int64_t row) const {
    if (!causal || first_row + row + 1 >= columns) return columns;
    return first_row + row + 1 > 0 ? first_row + row + 1 : 0;
  }
};

template <typename T>
struct Softmax {
  using A = Accumulate<T>;
  ScoreRows<A> rows;
  T* powers = nullptr;     // [rows, columns]: exp(score - largest); the scores where T is A
  A* inverse = nullptr;    // [rows] 1 / sum of the powers; 0 where everything is hidden
  A* logarithm = nullptr;  // [rows] log of the sum of exp(score); infinity where all is hidden
};

// Recomputes the probabilities from their logarithm and makes the slope of the scores.
template <typename T>
struct SoftmaxSlope {
  using A = Accumulate<T>;
  ScoreRows<A> rows;
  A* gradients = nullptr;        // [rows, columns]: of the probabilities; overwritten
  const A* logarithm = nullptr;  // [rows]
  // [rows] sum of output * its gradient; null: of the probabilities times theirs, made here, which
  // an output of few digits cannot give.
  const A* shift = nullptr;
  A* bias_gradient = nullptr;  // of row 0: added to; or null
  std::int64_t bias_gradient_row = 0;
  // Results [rows, columns]; for float and double they may be the memory of scores and gradients.
  T* probabilities = nullptr;
  T* slopes = nullptr;  // times scale
};

// [rows, width] with a stride between rows on either side; factors scale the rows where given.
template <typename From, typename To>
struct MovedRows {
  const From* from = nullptr;
  std::int64_t from_row = 0;
  To* to = nullptr;
  std::int64_t to_row = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const Accumulate<From>* factors = nullptr;  // [rows]
};

// Rows of bfloat16, a stride between them, on their way to an operand of tile products
// (tile_products.h). Rows up to `padded`, a multiple of 16, are filled with zeros.
struct PairedRows {
  const c10::BFloat16* from = nullptr;
  std::int64_t from_row = 0;
  c10::BFloat16* to = nullptr;
  std::int64_t to_row = 0;
  std::int64_t rows = 0;
  std::int64_t padded = 0;
  std::int64_t width = 0;  // a multiple of 32
};

// What lays out the operands and results of tile products, for widths that are multiples of 32.
struct PanelKernels {
  // [rows, width] -> [padded, to_row]
  void (*copy)(const PairedRows&);
  // [rows, width] -> [padded / 2, to_row, 2]: for products rows^T over the rows.
  void (*pair_rows)(const PairedRows&);
  // [rows, width] -> [width / 2, to_row, 2]: for products with their transpose, over the width.
  void (*pair_columns)(const PairedRows&);
  // [rows, width] -> [width, to_row]
  void (*transpose)(const PairedRows&);
  // from [width, from_row] -> to [rows, width]
  void (*transpose_sums)(const float* from, std::int64_t from_row, std::int64_t rows,
                         std::int64_t width, float* to);
};

template <typename M, typename T>
struct AttentionKernels {
  using A = Accumulate<T>;
  void (*gather)(const MovedRows<M, T>&);   // operands of products
  void (*scatter)(const MovedRows<A, M>&);  // their results
  void (*softmax)(const Softmax<T>&);
  void (*slope)(const SoftmaxSlope<T>&);
  // sums[r] = sum of a[r, c] * b[r, c]
  void (*row_products)(const M* a, std::int64_t a_row, const M* b, std::int64_t b_row,
                       std::int64_t rows, std::int64_t width, A* sums);
};

// The loops of the best instruction set of this processor.
template <typename M, typename T>
const AttentionKernels<M, T>& attention_kernels();
const PanelKernels& panel_kernels();

}  // namespace roformer::kernels
