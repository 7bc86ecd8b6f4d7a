// Attention as the papers write it down: a score for every pair of positions in a matrix of its
// own, vectors of distances gathered for every pair as [L, L, D], rotations as products with
// matrices. Large and slow on purpose: what the efficient forms are tested against and compared
// with.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "position/scheme.h"

namespace roformer {

struct PlainAttentionInputs {
  at::Tensor query;  // [B, H, L, D], not rotated
  at::Tensor key;    // [B, H, L, D]
  at::Tensor value;  // [B, H, L, D]
  const PositionScheme& scheme;
  const PositionSettings& settings;  // that the scheme was made with
  const ParameterStore& parameters;  // that it added its own to
  AttentionContext context;          // without a mask
  at::Tensor features =
      {};  // of schemes with features of tokens, as features() gives them: [B, H, L, F]
};

// Softmax attention -> [B, H, L, D].
at::Tensor plain_attention(const PlainAttentionInputs& inputs);

// About as many numbers are in memory at once in a forward and backward pass.
struct PlainAttentionSize {
  std::int64_t batch = 0, heads = 0, length = 0, head_width = 0;
};
double plain_attention_numbers(const PositionSettings& settings, const PlainAttentionSize& size);

}  // namespace roformer
