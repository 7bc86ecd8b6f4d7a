// Bias and rotation of packed queries, keys and values of texts that lie end to end, each token
// with rows of its own in the tables.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tensor/rotation.h"

namespace roformer {

// Of tables [T, width / 2], or, for kernels of our own, [L, width / 2] where all texts have L
// tokens.
struct PackedRotation {
  Rotation query;
  Rotation key;        // the same tensors where keys are rotated as queries are
  bool value = false;  // values are rotated as keys are
};

struct PackedHeads {
  at::Tensor projected;              // [T, (H + 2G) * D]: q, k, v of each token before the bias
  at::Tensor bias;                   // [(H + 2G) * D] or undefined
  std::int64_t heads = 0;            // H
  std::int64_t key_value_heads = 0;  // G
};

struct QueryKeyValue {
  at::Tensor query;  // [T, H, D]
  at::Tensor key;    // [T, G, D]
  at::Tensor value;  // [T, G, D]
};

// In new memory, in one pass over it where loops or kernels of our own run.
QueryKeyValue biased_and_rotated(const PackedHeads& packed,
                                 const std::optional<PackedRotation>& rotation);

}  // namespace roformer
