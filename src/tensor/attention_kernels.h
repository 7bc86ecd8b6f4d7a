// The loops of attention on CPUs: between the matrix products of tiled attention, and over rows of
// scores that a scheme changes. Compiled once for each instruction set, like the loops of
// kernels.h. M is the type in memory, T that of the products' operands (float for bfloat16 memory
// if the processor does not multiply bfloat16), A that of their sums.
#pragma once

#include <cstdint>

#include "tensor/kernels.h"

namespace roformer::kernels {

// Rows of scores that become probabilities. Row r sees its first visible(r) columns.
template <typename A>
struct ScoreRows {
  A* scores = nullptr;        // [rows, columns], before scale and bias; overwritten
  std::int64_t row = 0;       // stride between rows, also of the tensors that match the scores
  const A* bias = nullptr;    // of row 0, -infinity hides; or null
  std::int64_t bias_row = 0;  // stride between its rows; 0: all rows share one
  A scale = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t padded = 0;     // at least `columns`; columns visible(r) .. padded - 1 become 0
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
  A* inverse = nullptr;    // [rows] 1 / sum of the powers; 0 if all columns are hidden
  A* logarithm = nullptr;  // [rows] log of the sum of exp(score); infinity if all are hidden
};

// Recomputes the probabilities from their logarithm and makes the slope of the scores.
template <typename T>
struct SoftmaxSlope {
  using A = Accumulate<T>;
  ScoreRows<A> rows;
  A* gradients = nullptr;        // [rows, columns]: of the probabilities; overwritten
  const A* logarithm = nullptr;  // [rows]
  // [rows] sum of output * its gradient; null: the loop sums probabilities * their gradients, which
  // is exact where the output is rounded.
  const A* shift = nullptr;
  A* bias_gradient = nullptr;  // of row 0: added to; or null
  std::int64_t bias_gradient_row = 0;
  // Results [rows, columns]; for float and double they may be the memory of scores and gradients.
  T* probabilities = nullptr;
  T* slopes = nullptr;  // times scale
};

// Copies [rows, width] between types and strides, each row times its factor.
template <typename From, typename To>
struct MovedRows {
  const From* from = nullptr;
  std::int64_t from_row = 0;
  To* to = nullptr;
  std::int64_t to_row = 0;
  std::int64_t rows = 0;
  std::int64_t width = 0;
  const Accumulate<From>* factors = nullptr;  // [rows]; null: 1
};

// Lays out rows of bfloat16 as an operand of tile products (products.h). Rows up to `padded`, a
// multiple of 16, become zeros.
struct PairedRows {
  const c10::BFloat16* from = nullptr;
  std::int64_t from_row = 0;
  c10::BFloat16* to = nullptr;
  std::int64_t to_row = 0;
  std::int64_t rows = 0;
  std::int64_t padded = 0;
  std::int64_t width = 0;  // a multiple of 32
};

// The layouts of operands and results of tile products, for widths that are multiples of 32. Null in
// sets without AVX-512.
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

// Neighbouring differences of positions whose rows of a table follow each other (step 1 or -1) or
// are the same (0).
struct RelativeRun {
  std::int64_t begin = 0, end = 0;  // of the differences, from the least one on
  std::int64_t row = 0;             // of `begin`
  std::int64_t step = 0;
};

// A block of pairs (query, key) and products of its queries or keys with rows of a table, of which
// the difference of positions chooses one for each pair.
template <typename T>
struct RelativePairs {
  using A = Accumulate<T>;
  ScoreRows<A> rows;         // which pairs are visible; their scores if products are added
  const T* pairs = nullptr;  // laid out like the scores, if pairs are summed
  std::int64_t query = 0, queries = 0, key = 0, keys = 0;  // the block among these rows
  A* products = nullptr;  // [queries or keys of the block, product_row]
  std::int64_t product_row = 0;
  bool of_keys = false;
  std::int64_t first_row = 0;  // of the table: column 0 of the products
  const RelativeRun* runs = nullptr;
  std::int64_t run_count = 0;
  std::int64_t origin = 0;  // the number of the difference of query 0 and key 0
};

template <typename M, typename T>
struct AttentionKernels {
  using A = Accumulate<T>;
  void (*gather)(const MovedRows<M, T>&);   // operands of products
  void (*scatter)(const MovedRows<A, M>&);  // their results
  void (*softmax)(const Softmax<T>&);
  void (*slope)(const SoftmaxSlope<T>&);
  void (*add_relative)(const RelativePairs<T>&);  // scores += products
  void (*sum_relative)(const RelativePairs<T>&);  // products += pairs
  // sums[r] = sum of a[r, c] * b[r, c]
  void (*row_products)(const M* a, std::int64_t a_row, const M* b, std::int64_t b_row,
                       std::int64_t rows, std::int64_t width, A* sums);
};

// Loops over rows of scores: the softmax or stick-breaking, CoPE's positions and DAPE's network. A
// is float or double. A row holds the scores of one query with all its keys.

// Rows processed at once: each waits for its own running sum.
inline constexpr std::int64_t kRowsTogether = 4;

// Which keys the rows see.
struct VisiblePairs {
  const bool* visible = nullptr;  // [rows, keys]; null: all
  std::int64_t rows = 1;          // row r uses row r % rows
  std::int64_t keys = 0;

  const bool* of(std::int64_t row) const {
    return visible == nullptr ? nullptr : visible + row % rows * keys;
  }
};

// The softmax of scores and bias over the keys that a row sees; zeros if it sees none.
template <typename A>
struct SoftmaxRows {
  A* scores = nullptr;         // [rows, keys], become the probabilities
  const A* bias = nullptr;     // [bias_rows, keys], added first; null: none
  std::int64_t bias_rows = 1;  // row r gets row r % bias_rows
  VisiblePairs pairs;
};

// Stick-breaking (Tan 2025): w_j = sigmoid(s_j) prod over m > j of (1 - sigmoid(s_m)).
template <typename A>
struct BreakSticks {
  A* scores = nullptr;     // [rows, keys], become the weights
  A* shares = nullptr;     // [rows, keys]: the sigmoids, 0 where hidden; null: not wanted
  A* remainder = nullptr;  // [rows]: 1 minus the sum of the weights
  VisiblePairs pairs;
};
template <typename A>
struct StickSlopes {
  A* slopes = nullptr;  // [rows, keys]: of the weights; become those of the scores
  const A* weights = nullptr;
  const A* shares = nullptr;
  const A* remainder = nullptr;
  const A* remainder_slopes = nullptr;  // [rows]; null: none
  std::int64_t keys = 0;
};

// CoPE (Golovneva 2024): p_j = min(sum over m >= j of sigmoid(s_m), positions - 1). Adds the row's
// product with the vector of that position, interpolated.
template <typename A>
struct ContextualScores {
  A* scores = nullptr;          // [rows, keys], changed in place
  A* gates = nullptr;           // [rows, keys]: the sigmoids, 0 where hidden
  const A* products = nullptr;  // [rows, positions]
  std::int64_t positions = 0;
  VisiblePairs pairs;
};
template <typename A>
struct ContextualSlopes {
  A* slopes = nullptr;  // [rows, keys]; the gradient through the gates is added
  const A* gates = nullptr;
  const A* products = nullptr;
  A* to_products = nullptr;  // [rows, positions], added to
  std::int64_t positions = 0;
  std::int64_t keys = 0;
  A* memory = nullptr;  // [kRowsTogether, keys], overwritten
};

// DAPE's network of two layers (Zheng 2024): y[o, j] = b[o] + sum over t, c of
// W[t, c, o] x[c, j + t - taps / 2], with a LeakyReLU between them and zeros outside the keys. Its
// channels are the heads' scores and their biases, if any.
template <typename A>
struct ScoreNetworkRow {
  // One query: head h begins at h * head_step.
  const A* scores = nullptr;   // [heads, keys]
  const A* bias = nullptr;     // [heads, keys]; null: the scores alone
  const bool* past = nullptr;  // [keys]: what the first layer sees; null: all
  std::int64_t head_step = 0;
  std::int64_t heads = 0;
  std::int64_t keys = 0;
  std::int64_t taps = 1;  // odd
  std::int64_t hidden = 0;
  const A* first_weight = nullptr;   // [taps, channels, hidden]
  const A* first_bias = nullptr;     // [hidden]
  const A* second_weight = nullptr;  // [taps, hidden, heads]
  const A* second_bias = nullptr;    // [heads]
  A slope = 0;
  A* output = nullptr;  // [heads, keys]: scores + bias + network
  // Backward only, with the output's gradient for `output`.
  const A* output_gradient = nullptr;
  A* to_scores = nullptr;  // [heads, keys]
  A* to_bias = nullptr;    // [heads, keys], added to; null: not wanted
  // First weight, first bias, second weight, second bias, end to end: kLaneSums<A> partial sums of
  // the gradient of each number; added to.
  A* to_weights = nullptr;
  A* memory = nullptr;  // memory_needed() numbers, overwritten

  std::int64_t channels() const { return bias == nullptr ? heads : 2 * heads; }
  // Columns of the memory for a part of the keys and the neighbours that both layers read.
  std::int64_t columns() const {
    return (kKeysOfPart + 2 * (taps - 1) + kStep - 1) / kStep * kStep;
  }
  std::int64_t memory_needed() const {
    return (2 * channels() + 2 * hidden + heads) * columns() + kStep;
  }

  static constexpr std::int64_t kKeysOfPart = 64;
  static constexpr std::int64_t kStep = 128 / sizeof(A);  // columns computed at once
};
template <typename A>
inline constexpr std::int64_t kLaneSums = 64 / sizeof(A);

template <typename A>
struct ScoreKernels {
  void (*softmax_rows)(const SoftmaxRows<A>&, std::int64_t begin, std::int64_t end);
  void (*break_sticks)(const BreakSticks<A>&, std::int64_t begin, std::int64_t end);
  void (*stick_slopes)(const StickSlopes<A>&, std::int64_t begin, std::int64_t end);
  void (*add_contextual)(const ContextualScores<A>&, std::int64_t begin, std::int64_t end);
  void (*contextual_slopes)(const ContextualSlopes<A>&, std::int64_t begin, std::int64_t end);
  void (*score_network)(const ScoreNetworkRow<A>&);
  void (*score_network_slopes)(const ScoreNetworkRow<A>&);
};

// All loops, for one instruction set.
struct KernelSet : KernelTable<float>,
                   KernelTable<double>,
                   KernelTable<c10::BFloat16>,
                   AttentionKernels<float, float>,
                   AttentionKernels<double, double>,
                   AttentionKernels<c10::BFloat16, c10::BFloat16>,
                   AttentionKernels<c10::BFloat16, float>,
                   ScoreKernels<float>,
                   ScoreKernels<double>,
                   PanelKernels {};

// The kernels for the best instruction set that instruction_level() allows, and their parts.
const KernelSet& kernel_set();
template <typename M, typename T>
const AttentionKernels<M, T>& attention_kernels() {
  return kernel_set();
}
template <typename A>
const ScoreKernels<A>& score_kernels() {
  return kernel_set();
}
inline const PanelKernels& panel_kernels() {
  return kernel_set();
}

}  // namespace roformer::kernels
