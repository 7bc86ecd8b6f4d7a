// Linear attention of whole texts on a CPU, forward and backward, one head of one text at a time:
// its features, rotation, sums and quotient are computed while they are in the cache. The backward
// pass computes the features again.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

#include "tensor/rotation.h"

namespace roformer {

struct LinearHeads {
  at::Tensor query, key, value;  // [B, H, L, D]
  bool causal = true;
  at::Tensor matrix;   // [F, D] of FAVOR+ (linear_attention_operations.h); undefined: elu(x) + 1
  double epsilon = 0;  // of FAVOR+
  bool stabilized = true;  // FAVOR+'s queries by token, its keys by head
  std::optional<RotationPair> rotation;
  // The features of the numerator (RoFormer, equation 19); else q and k before the features.
  bool rotates_features = false;
  double least_denominator = 0;
};

struct LinearHeadsResult {
  at::Tensor output;  // [B, H, L, D], the tokens of a text side by side
  // If wanted, [B, H, L] of float or double: the denominators and |f(q)| times the sum of |f(k)|.
  at::Tensor denominator, bound;
};

// Whether x is on a CPU that runs the loops.
bool can_attend_linear_heads(const at::Tensor& x);
LinearHeadsResult linear_heads(const LinearHeads& in, bool with_bounds);

}  // namespace roformer
