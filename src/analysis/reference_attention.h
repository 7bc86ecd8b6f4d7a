// Attention as the papers write it: one score matrix over all pairs of positions, the vectors of
// distances gathered for every pair as [L, L, D], rotations as matrix products. Large and slow on
// purpose: the efficient forms are tested against it and compared with it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "position/scheme.h"

namespace roformer {

struct ReferenceAttentionInputs {
  at::Tensor query;  // [B, H, L, D], not rotated
  at::Tensor key;    // [B, H, L, D]
  at::Tensor value;  // [B, H, L, D]
  const PositionScheme& scheme;
  const PositionSettings& settings;  // that the scheme was made with
  const ParameterStore& parameters;  // that it added its own to
  AttentionContext context;          // without a mask
  at::Tensor token_inputs = {};      // [B, H, L, F], the scheme's token_inputs()
};

// Softmax attention -> [B, H, L, D].
at::Tensor reference_attention(const ReferenceAttentionInputs& inputs);

// About as many numbers are in memory at once in a forward and backward pass.
struct ReferenceAttentionSize {
  std::int64_t batch = 0, heads = 0, length = 0, head_width = 0;
};
double reference_attention_numbers(const PositionSettings& settings,
                                   const ReferenceAttentionSize& size);

}  // namespace roformer
