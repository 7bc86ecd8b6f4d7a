// Self-attention over a flat batch of tokens: takes the fastest path that gives the right numbers
// for the scheme's answers.
#pragma once

#include <ATen/core/Tensor.h>

#include "attention/attention_cache.h"
#include "attention/position_session.h"
#include "tensor/operations.h"
#include "tensor/token_layout.h"

namespace roformer {

struct SelfAttentionInputs {
  at::Tensor projected;  // [T, 3 * H * D]: q, k, v of each token before the bias; consumed
  at::Tensor bias;       // [3 * H * D]
  const TokenLayout& layout;
  std::int64_t heads = 0;
  std::int64_t layer = 0;
  LayerProjections projections;
  DropoutSpec dropout;  // of the probabilities
  at::Tensor input;     // [T, M] of the layer: for schemes with features of tokens
};

// -> [T, H * D]
at::Tensor self_attention(const SelfAttentionInputs& inputs, PositionSession& session);

// The same in a step of decoding, whose queries see the cache's tokens and their own: causal, and
// without dropout. The layout is one block, texts of equal length in the cache's order; the
// session's queries are the step's positions, its keys all positions of the cache, which has begun
// the step.
at::Tensor cached_self_attention(const SelfAttentionInputs& inputs, PositionSession& session,
                                 AttentionCache& cache);

}  // namespace roformer
