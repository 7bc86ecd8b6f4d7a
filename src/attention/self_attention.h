// Self-attention over a flat batch of tokens, by the fastest path that supports the scheme
// (AttentionPath).
#pragma once

#include <ATen/core/Tensor.h>

#include "attention/attend.h"
#include "attention/attention_cache.h"
#include "attention/position_session.h"
#include "tensor/operations.h"
#include "tensor/token_layout.h"

namespace roformer {

struct SelfAttentionInputs {
  // [T, (H + 2G) * D]: q of H heads, k and v of G of each token before the bias; consumed.
  at::Tensor projected;
  at::Tensor bias;  // [(H + 2G) * D] or undefined: none
  const TokenLayout& layout;
  std::int64_t heads = 0;            // H
  std::int64_t key_value_heads = 0;  // G, a divisor of H; each serves H / G query heads. 0: H
  std::int64_t layer = 0;
  LayerProjections projections;
  DropoutSpec dropout;                    // of the probabilities
  at::Tensor input;                       // [T, M] of the layer: for schemes with token inputs
  AttentionObserver* observer = nullptr;  // of softmax attention, without a cache

  std::int64_t shared_heads() const { return key_value_heads > 0 ? key_value_heads : heads; }
  std::int64_t head_width() const { return projected.size(1) / (heads + 2 * shared_heads()); }
};

// -> [T, H * D]
at::Tensor self_attention(const SelfAttentionInputs& inputs, PositionSession& session);

// The same for a decoding step, whose queries see the cached tokens and the step's own: causal,
// without dropout. The layout is one block of texts of equal length in the cache's order. The
// session's queries are the step's positions, its keys all positions of the cache, after
// begin_step().
at::Tensor cached_self_attention(const SelfAttentionInputs& inputs, PositionSession& session,
                                 AttentionCache& cache);

// Chooses the implementation of an attention layer from its scheme's capabilities and the pass.
enum class AttentionPath {
  packed,  // packed_attention: a GPU kernel over concatenated texts
  tiles,   // fused_attention: all texts at once, no score matrix in memory
  // One call for each group of texts of equal length:
  running_sums,  // running_sum_attention: blocks of queries
  scheme,        // PositionScheme::attended
  kernel,        // sdpa_attention: LibTorch's kernel
  scores,        // attend: scores that a scheme changes, or an observer wants to see
  linear,        // linear_attention
};

// The first of these that computes the right result.
AttentionPath attention_path(const SelfAttentionInputs& inputs, PositionSession& session);
// The same for a decoding step with a cache: kernel, scores or linear.
AttentionPath cached_attention_path(const SelfAttentionInputs& inputs, PositionSession& session);

}  // namespace roformer
