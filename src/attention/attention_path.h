// Chooses the implementation of an attention layer from its scheme's capabilities and the pass.
#pragma once

#include "attention/self_attention.h"

namespace roformer {

enum class AttentionPath {
  packed,  // packed_attention: a GPU kernel over concatenated texts
  tiles,   // fused_attention: all texts at once, no score matrix in memory
  // One call for each group of texts of equal length:
  running_sums,  // running_sum_attention: blocks of queries
  kernel,        // sdpa_attention: LibTorch's kernel
  scores,        // attend: scores that a scheme changes, or an observer wants to see
  linear,        // linear_attention
};

// The first of these that computes the right result.
AttentionPath attention_path(const SelfAttentionInputs& inputs, PositionSession& session);
// The same for a decoding step with a cache: kernel, scores or linear.
AttentionPath cached_attention_path(const SelfAttentionInputs& inputs, PositionSession& session);

}  // namespace roformer
