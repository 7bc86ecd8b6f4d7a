// Operations of a Transformer's forward pass that LibTorch has only in pieces, each one pass over
// memory with its gradient written by hand. On CPUs they run the loops of kernels.h; on other
// devices they are composed of LibTorch's own operations. T tokens, M width, E embedding width,
// V vocabulary, P targets.
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
  std::int64_t first_row = 0;  // the number of the tensor's row 0 among all rows of the key
};

// The sum of the rows of x [T, C], in float for bfloat16 -> [C]. LibTorch's sum makes a float copy
// of all of x first. Without graph.
at::Tensor column_sums(const at::Tensor& x);

// x W^T without bias (LibTorch has a function named linear). x [T, in] (float, double or bfloat16),
// weight [out, in] -> [T, out] in x's type. The gradient of the weight is added to weight.grad()
// directly where that exists.
at::Tensor project(const at::Tensor& x, const at::Tensor& weight);

// activation(x + bias). x [T, C], bias [C] or undefined: none. The activation has no gate. A CPU
// keeps its slope in x's type for the backward pass, in place of x.
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

// Rows of the table. table [V, E], ids [T] int64 -> [T, E]. Gradient as for linear.
at::Tensor embedding_rows(const at::Tensor& table, const at::Tensor& ids);

// Cross entropy of the targets' labels, -log softmax(hidden table^T + bias)[label], never holding
// more than a block of [P, V]; the gradients are made in the forward pass. Nothing here waits for a
// device. hidden [P, E], table [V, E], bias [V], labels [P] int64, -1 for a row without
// one, which has no loss and no gradient. Rows of hidden behind the labels
// count nothing.
struct CrossEntropy {
  at::Tensor loss_sum;  // scalar float64 with graph: the sum of the (smoothed) losses
  at::Tensor losses;    // [P] float64 without graph: -log softmax[label], never smoothed
  at::Tensor correct;   // [P] bool: the label has the first of the largest logits
};
// Label smoothing (Szegedy 2016, section 7, as Marian and fairseq train translation): the loss of a
// target is (1 - smoothing) * -log p[label] + smoothing * mean over the vocabulary of -log p.
CrossEntropy linear_cross_entropy(const at::Tensor& hidden, const at::Tensor& table,
                                  const at::Tensor& bias, const at::Tensor& labels,
                                  double smoothing = 0);

// What is most likely in each row of logits, found in one go: the logarithm of the sum of the
// exponentials, and the largest values. R rows, V columns.

struct RowTops {
  at::Tensor values;       // [R, wanted], falling
  at::Tensor ids;          // [R, wanted] int64; of equal values the lower id stands first
  at::Tensor normalizers;  // [R]
};

// logits [R, V] float32 on the CPU, 1 <= wanted <= V. What is excluded becomes minus infinity in
// `logits` and stands behind everything else; it counts in the normalizers unless `renormalize`.
struct RowTopsRequest {
  std::int64_t wanted = 1;
  std::span<const std::int64_t> excluded;  // columns, each once; those beyond V are none
  bool renormalize = false;
};
RowTops row_tops(at::Tensor& logits, const RowTopsRequest& request);

}  // namespace roformer

namespace roformer::composed {

// The operations of operations.h composed of LibTorch's own, as devices without the loops of
// kernels.h take them. They give the same numbers up to rounding, and the same dropout exactly,
// which the tests see on a CPU.

// Bool [rows, columns], true where dropout makes a zero.
at::Tensor dropped(const DropoutSpec& spec, std::int64_t rows, std::int64_t columns,
                   at::Device device);

NormedSum residual_norm(const ResidualNormInputs& inputs);

// Losses of a block of logits [P, V] before their bias; the logits become their gradient.
struct BlockLosses {
  at::Tensor losses;    // [P] float64
  at::Tensor smoothed;  // [P] float64
  at::Tensor correct;   // [P] bool
};
BlockLosses cross_entropy(const at::Tensor& logits, const at::Tensor& bias,
                          const at::Tensor& labels, double smoothing);

}  // namespace roformer::composed
