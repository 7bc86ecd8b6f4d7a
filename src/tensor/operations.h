// Fused operations of a Transformer, each one pass over memory with a hand-written gradient. On
// CPUs they run the loops of kernels.h, on GPUs our kernels (gpu/row_kernels.h), else LibTorch's
// operations. T tokens, M width, E embedding width, V vocabulary, P targets.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "config/model_settings.h"

namespace roformer {

// Dropout as a function of (key, row, column), the same on every device.
struct DropoutSpec {
  double probability = 0;
  std::uint64_t key = 0;
  std::int64_t first_row = 0;  // the number of the tensor's row 0 among all rows of this key
};

// The sum of the rows of x [T, C], in float for bfloat16 -> [C], without a graph. (LibTorch's sum
// first copies all of x to float.)
at::Tensor column_sums(const at::Tensor& x);

// x W^T without bias. x [T, in] (float, double or bfloat16), weight [out, in] -> [T, out] in x's
// type. If weight.grad() exists, the gradient of the weight is added to it directly.
at::Tensor project(const at::Tensor& x, const at::Tensor& weight);

// activation(x + bias). x [T, C], bias [C] or undefined: none. The activation has no gate. For the
// backward pass a CPU keeps the slope in x's type, instead of x.
at::Tensor bias_activation(const at::Tensor& x, const at::Tensor& bias, ActivationKind activation);

// activation(a) * b for the halves a, b of x + bias (Shazeer 2020). x [T, 2C], bias [2C] or
// undefined: none -> [T, C]. The activation is a gated one.
at::Tensor gated_activation(const at::Tensor& x, const at::Tensor& bias, ActivationKind activation);

// sum = residual + dropout(input + bias); normed = norm(sum) * gain + shift. Undefined input, bias,
// residual or shift are left out; an undefined gain leaves `normed` undefined.
struct ResidualNormInputs {
  at::Tensor input;     // [T, M]
  at::Tensor bias;      // [M]
  at::Tensor residual;  // [T, M]
  at::Tensor gain;      // [M]
  at::Tensor shift;     // [M]
  NormKind norm = NormKind::layer_norm;
  double epsilon = 1e-12;
  DropoutSpec dropout;
};
struct NormedSum {
  at::Tensor sum;     // [T, M]
  at::Tensor normed;  // [T, M]
};
NormedSum residual_norm(const ResidualNormInputs& inputs);

// dropout(x). x [T, M].
at::Tensor dropout(const at::Tensor& x, const DropoutSpec& spec);

// Rows of the table. table [V, E], ids [T] int64 -> [T, E]. Gradient as for project().
at::Tensor embedding_rows(const at::Tensor& table, const at::Tensor& ids);

// Cross entropy of the targets' labels, -log softmax(hidden table^T + bias)[label]. Only a block of
// [P, V] is stored at a time; the gradients are made in the forward pass; nothing waits for a
// device. hidden [P, E], table [V, E], bias [V], labels [P] int64. A row with label -1 has no loss
// and no gradient; rows of hidden beyond the labels are ignored.
struct CrossEntropy {
  at::Tensor loss_sum;  // scalar float64 with graph: the sum of the (smoothed) losses
  at::Tensor losses;    // [P] float64 without graph: -log softmax[label], never smoothed
  at::Tensor correct;   // [P] bool: the label has the first of the largest logits
};
// Label smoothing (Szegedy 2016, section 7, as in Marian and fairseq): the loss of a target is
// (1 - smoothing) * -log p[label] + smoothing * mean over the vocabulary of -log p.
CrossEntropy linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& table,
                                  const at::Tensor& bias, const at::Tensor& labels,
                                  double smoothing = 0);

// The largest values of each row of logits. R rows, V columns.
struct RowTops {
  at::Tensor values;       // [R, wanted], in descending order
  at::Tensor ids;          // [R, wanted] int64; the lower id first among equal values
  at::Tensor normalizers;  // [R]: the logarithm of the sum of the exponentials
};

// logits [R, V] float32 on the CPU, 1 <= wanted <= V. Excluded columns become minus infinity in
// `logits`; they count in the normalizers unless `renormalize`.
struct RowTopsRequest {
  std::int64_t wanted = 1;
  std::span<const std::int64_t> excluded;  // columns, each once; those beyond V are ignored
  bool renormalize = false;
};
RowTops row_tops(at::Tensor& logits, const RowTopsRequest& request);

}  // namespace roformer

namespace roformer::composed {

// Three of these operations composed of LibTorch's, for devices without our loops or kernels: the
// same numbers up to rounding, and exactly the same dropout.

// Bool [rows, columns], true for numbers that dropout sets to zero.
at::Tensor dropped(const DropoutSpec& spec, std::int64_t rows, std::int64_t columns,
                   at::Device device);

NormedSum residual_norm(const ResidualNormInputs& inputs);

// Losses of a block of logits [P, V] before their bias; the logits are replaced by their gradient.
struct BlockLosses {
  at::Tensor losses;    // [P] float64
  at::Tensor smoothed;  // [P] float64
  at::Tensor correct;   // [P] bool
};
BlockLosses cross_entropy(const at::Tensor& logits, const at::Tensor& bias,
                          const at::Tensor& labels, double smoothing);

}  // namespace roformer::composed
