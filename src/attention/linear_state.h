// The recurrent state of causal linear attention: sums over the keys so far, so that every token
// costs the same however long the text is. Results of earlier tokens are not updated. Recomputing
// the whole text instead would use the FAVOR+ stabiliser of all its tokens, and with an epsilon the
// results would differ slightly. B texts, H heads, F features, D head width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "attention/linear_attention.h"

namespace roformer {

class LinearState {
 public:
  // Adds the tokens at inputs.context.queries and returns their attention output, [B, H, L, D]: the
  // last L rows of linear_attention over the whole text. Requires a scheme that rotates a key only
  // by its own position (CachedKeys::rotated).
  at::Tensor append(const LinearAttentionInputs& inputs, const at::Tensor& value);

  // Text i continues the old text sources[i].
  void reorder(std::span<const std::int64_t> sources);

 private:
  LinearSums sums_;
  // A feature of FAVOR+ is share * (exp(x - stabiliser) + epsilon), with the stabiliser the largest
  // x of all keys so far: when that grows, all of a sum shrinks but the epsilon's part of it.
  LinearSums constants_;
  at::Tensor stabilizer_;  // [B, H, 1, 1]; undefined: the features have none

  void shrink(const at::Tensor& stabilizer);
};

}  // namespace roformer
