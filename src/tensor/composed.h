// The operations of operations.h composed of LibTorch's own, as devices without the loops of
// kernels.h take them. They give the same numbers up to rounding, and the same dropout exactly,
// which the tests see on a CPU.
#pragma once

#include "tensor/operations.h"

namespace roformer::composed {

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
