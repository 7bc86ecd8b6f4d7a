// The recurrent state of causal linear attention: sums over the keys so far, so that one more token
// costs the same however long the text is. A token's result stays as it was read; a text computed
// anew gives its earlier tokens FAVOR+'s stabiliser of the later ones, which with an epsilon is not
// quite the same. B texts, H heads, F features, D head width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "attention/linear_attention.h"

namespace roformer {

class LinearState {
 public:
  // Adds the tokens at inputs.context.queries and returns what their queries see, [B, H, L, D]: the
  // last L rows of the whole text's linear_attention. The scheme rotates a key by its own position
  // alone (scheme.capabilities().cached_keys).
  at::Tensor append(const LinearAttentionInputs& inputs, const at::Tensor& value);

  // Text i goes on from text sources[i].
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
