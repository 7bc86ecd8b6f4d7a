// The inner loops of the fused operations on CPUs: plain C++ over rows, compiled once for each
// instruction set and chosen at run time, without tensors or threads (the operations split rows
// over threads). T is the type in memory (float, double, bfloat16); bfloat16 is computed in float.
#pragma once

#include <c10/util/BFloat16.h>

#include <cstdint>
#include <type_traits>

namespace roformer::kernels {

enum class Activation { gelu, gelu_tanh, relu, swish };

// Type of the arithmetic, of norm statistics and of bias, gain and table values.
template <typename T>
using Accumulate = std::conditional_t<std::is_same_v<T, double>, double, float>;

// Dropout as a function of (key, row, column); probability 0: none.
struct Dropout {
  double probability = 0;
  std::uint64_t key = 0;
  std::int64_t first_row = 0;  // the number of row 0 among all rows of the key
  // The address of the key, for kernels in a GPU graph, which has another key in each repetition;
  // or null.
  const std::uint64_t* key_at = nullptr;
};

template <typename T>
struct BiasActivation {
  using A = Accumulate<T>;
  Activation activation = Activation::gelu;
  const T* input = nullptr;  // [rows, columns], before the bias
  const A* bias = nullptr;   // [columns]
  T* output = nullptr;       // [rows, columns]
  // The activation's slope, [rows, columns], or null. The forward loop of a CPU writes it for the
  // backward loop, which then needs neither the input nor an exponential. A GPU recomputes it.
  T* slope = nullptr;
  // Backward only: output is the gradient of the input.
  const T* output_gradient = nullptr;
  A* bias_gradient = nullptr;  // [columns], added to
  std::int64_t columns = 0;
};

// output = activation(a) * b for the halves a, b of input + bias.
template <typename T>
struct GatedActivation {
  using A = Accumulate<T>;
  Activation activation = Activation::swish;
  const T* input = nullptr;  // [rows, 2 * columns], before the bias
  const A* bias = nullptr;   // [2 * columns]
  T* output = nullptr;       // [rows, columns]
  // Backward only: output is the gradient of the input, [rows, 2 * columns].
  const T* output_gradient = nullptr;  // [rows, columns]
  A* bias_gradient = nullptr;          // [2 * columns], added to
  std::int64_t columns = 0;
};

// sum = residual + dropout(input + bias); normed = (sum - mean) * inverse_deviation * gain + shift.
// Without `centred` the mean is taken as zero: RMSNorm.
template <typename T>
struct ResidualNorm {
  using A = Accumulate<T>;
  std::int64_t columns = 0;
  Dropout dropout;
  double epsilon = 1e-12;
  bool centred = true;
  const T* input = nullptr;        // [rows, columns] or null (plain LayerNorm of the residual)
  const A* bias = nullptr;         // [columns] or null
  const T* residual = nullptr;     // [rows, columns] or null
  const A* gain = nullptr;         // [columns]; null: no norm, only the sum
  const A* shift = nullptr;        // [columns] or null
  T* sum = nullptr;                // [rows, columns]
  T* normed = nullptr;             // [rows, columns]
  A* mean = nullptr;               // [rows]
  A* inverse_deviation = nullptr;  // [rows]
  // Backward only.
  const T* normed_gradient = nullptr;  // [rows, columns] or null
  const T* sum_gradient = nullptr;     // [rows, columns] or null: the gradient of `sum` itself
  T* input_gradient = nullptr;         // [rows, columns] or null
  T* residual_gradient = nullptr;      // [rows, columns] or null
  A* bias_gradient = nullptr;          // [columns], added to; or null
  A* gain_gradient = nullptr;          // [columns], added to
  A* shift_gradient = nullptr;         // [columns], added to
};

// Rotates pairs of features of `heads` heads in each row. Row t is a token, at position
// t % positions of the tables.
template <typename T>
struct Rotate {
  using A = Accumulate<T>;
  const T* input = nullptr;    // first head of row 0
  T* output = nullptr;         // may equal input
  const A* bias = nullptr;     // [heads * width], added first; or null
  std::int64_t input_row = 0;  // stride between rows
  std::int64_t output_row = 0;
  std::int64_t input_head = 0;  // stride between heads
  std::int64_t output_head = 0;
  std::int64_t heads = 0;
  std::int64_t width = 0;         // features of a head
  std::int64_t rotary_width = 0;  // the first features, which are rotated; 0: bias or copy only
  bool interleaved = true;
  bool inverse = false;       // rotate by the negative angle
  const A* cosine = nullptr;  // [positions, rotary_width / 2]
  const A* sine = nullptr;
  std::int64_t positions = 1;
};

// Softmax cross entropy of one row of logits with label smoothing; the row becomes the gradient.
template <typename T>
struct CrossEntropyRow {
  using A = Accumulate<T>;
  T* logits = nullptr;      // [columns], before the bias
  const A* bias = nullptr;  // [columns]
  std::int64_t columns = 0;
  std::int64_t label = 0;  // -1: none, so no loss and no gradient
  double smoothing = 0;
};
struct RowLoss {
  double loss = 0;       // -log p[label]
  double smoothed = 0;   // (1 - smoothing) * loss + smoothing * mean of -log p
  bool correct = false;  // the label has the first of the largest logits
};

// The largest values of each row of logits, in descending order (the lower column first among
// equals), and the logarithm of the sum of the exponentials.
template <typename T>
struct RowTops {
  const T* logits = nullptr;  // [rows, columns]
  std::int64_t columns = 0;
  std::int64_t wanted = 0;      // values of a row, at most `columns`
  T* values = nullptr;          // [rows, wanted]
  std::int64_t* ids = nullptr;  // [rows, wanted]
  T* normalizers = nullptr;     // [rows]
};

// Adds rows to one row of sums.
template <typename T>
struct ColumnSums {
  const T* rows = nullptr;  // [rows, columns]
  std::int64_t columns = 0;
  Accumulate<T>* sums = nullptr;  // [columns]
};

// For each row in turn: sum += gain * row, then output = factor * sum.
template <typename A>
struct RunningSums {
  const A* input = nullptr;    // row 0
  std::int64_t input_row = 0;  // stride between rows; negative: from the last to the first
  const A* gains = nullptr;    // one for each row; null: 1
  std::int64_t gain_row = 0;   // stride between gains
  A* output = nullptr;         // row 0
  std::int64_t output_row = 0;
  const A* factors = nullptr;  // one for each row; null: 1
  std::int64_t factor_row = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  A* sum = nullptr;  // [columns], the sum before row 0; overwritten
};

// FAVOR+'s features of one head's tokens, which replace their exponents:
// (exp(number - half * |input|^2 - stabilizer) + epsilon) * share.
template <typename A>
struct ExponentialFeatures {
  A* numbers = nullptr;  // [rows, columns]
  std::int64_t columns = 0;
  const A* input = nullptr;  // [rows, width]
  std::int64_t width = 0;
  A half = 0;
  const A* stabilizer = nullptr;  // of all rows; null: the largest number of each row
  A epsilon = 0;
  A share = 1;
};
template <typename A>
struct ExponentialFeaturesBackward {
  const A* features = nullptr;  // [rows, columns]
  const A* gradient = nullptr;  // [rows, columns]
  A floor = 0;                  // the part of a feature that is not its exponential
  A* to_exponents = nullptr;    // [rows, columns]
  std::int64_t columns = 0;
  const A* input = nullptr;  // [rows, width]
  A* to_input = nullptr;     // [rows, width]: the gradient through |input|^2 alone
  std::int64_t width = 0;
  A factor = 0;  // twice `half`
};

// Softmax attention of a few queries to the keys of one head, key by key: matrix products pay only
// if more queries share a key.
template <typename T>
struct FewQueries {
  using A = Accumulate<T>;
  const A* query = nullptr;  // row 0 of [queries, width]
  std::int64_t query_row = 0;
  const T* key = nullptr;  // row 0 of [keys, width]
  std::int64_t key_row = 0;
  const T* value = nullptr;  // row 0 of [keys, width]
  std::int64_t value_row = 0;
  const A* additive = nullptr;  // row 0 of [queries, keys], -infinity hides; or null
  std::int64_t additive_row = 0;
  T* output = nullptr;  // row 0 of [queries, width]; zeros if all keys are hidden
  std::int64_t output_row = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t width = 0;
  A scale = 1;
  A* scores = nullptr;  // [keys], overwritten
};

template <typename T>
struct KernelTable {
  using A = Accumulate<T>;
  void (*bias_activation_forward)(const BiasActivation<T>&, std::int64_t begin, std::int64_t end);
  void (*bias_activation_backward)(const BiasActivation<T>&, std::int64_t begin, std::int64_t end);
  void (*gated_activation_forward)(const GatedActivation<T>&, std::int64_t begin, std::int64_t end);
  void (*gated_activation_backward)(const GatedActivation<T>&, std::int64_t begin,
                                    std::int64_t end);
  void (*residual_norm_forward)(const ResidualNorm<T>&, std::int64_t begin, std::int64_t end);
  void (*residual_norm_backward)(const ResidualNorm<T>&, std::int64_t begin, std::int64_t end);
  void (*rotate)(const Rotate<T>&, std::int64_t begin, std::int64_t end);
  RowLoss (*cross_entropy_row)(const CrossEntropyRow<T>&);
  void (*row_tops)(const RowTops<T>&, std::int64_t begin, std::int64_t end);
  void (*column_sums)(const ColumnSums<T>&, std::int64_t begin, std::int64_t end);
  void (*running_sums)(const RunningSums<Accumulate<T>>&);
  void (*exponential_features)(const ExponentialFeatures<Accumulate<T>>&, std::int64_t rows);
  void (*exponential_features_backward)(const ExponentialFeaturesBackward<Accumulate<T>>&,
                                        std::int64_t rows);
  void (*elu_features)(const Accumulate<T>* x, Accumulate<T>* features, std::int64_t count);
  void (*attend_few)(const FewQueries<T>&);
};

// The loops of the best instruction set within instruction_level().
template <typename T>
const KernelTable<T>& table();
// Its name: "avx512_bf16", "avx512", "avx2" or "baseline".
const char* instruction_set();

}  // namespace roformer::kernels
