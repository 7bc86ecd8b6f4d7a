// Which of its ways an attention layer takes, from what its scheme's form and the pass ask for.
#pragma once

#include "attention/self_attention.h"

namespace roformer {

enum class AttentionPath {
  packed,  // packed_attention: a GPU's kernel over texts end to end
  tiles,   // fused_attention: all texts at once, no score in memory
  // Texts of equal length at a time:
  running_sums,  // running_sum_attention: some queries after the other
  kernel,        // sdpa_attention: LibTorch's own
  scores,        // attend: scores that a scheme changes, or an observer wants to see
  linear,        // linear_attention
};

// The first of them that gives the right numbers.
AttentionPath attention_path(const SelfAttentionInputs& inputs, PositionSession& session);
// Of a step of decoding, which sees the keys of a cache: kernel, scores or linear.
AttentionPath cached_attention_path(const SelfAttentionInputs& inputs, PositionSession& session);

}  // namespace roformer
