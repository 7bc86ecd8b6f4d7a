// Adds the bias to packed queries, keys and values of concatenated texts and rotates them. The
// rotation tables have a row for each token.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "tensor/rotation.h"

namespace roformer {

// Tables are [T, width / 2]; our kernels also take [L, width / 2] if all texts have L tokens.
struct PackedRotation {
  Rotation query;
  Rotation key;        // the same tensors if keys are rotated like queries
  bool value = false;  // values are rotated like keys
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

// Returns new memory, written in one pass where our loops or kernels run.
QueryKeyValue biased_and_rotated(const PackedHeads& packed,
                                 const std::optional<PackedRotation>& rotation);

}  // namespace roformer
