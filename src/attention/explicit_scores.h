// The two matrix products of explicit attention in the accumulating type: bfloat16 queries and keys
// give float scores, and the gradient of the probabilities is float, too, so that neither the
// softmax nor its gradient is computed from rounded numbers.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "config/attention_settings.h"
#include "position/scheme.h"

namespace roformer {

// a b, [.., M, K] [.., K, N] -> [.., M, N] in the accumulating type. Not differentiable.
at::Tensor wide_product(const at::Tensor& a, const at::Tensor& b);

// scale * query key^T. query [B, H, Lq, D], key [B, H, Lk, D] -> [B, H, Lq, Lk] in the
// accumulating type.
at::Tensor content_scores(const at::Tensor& query, const at::Tensor& key, double scale);

// probabilities value. probabilities [B, H, Lq, Lk] in the accumulating type, value [B, H, Lk, D]
// -> [B, H, Lq, D] in value's type.
at::Tensor weighted_values(const at::Tensor& probabilities, const at::Tensor& value);

// The softmax of attention scores: bias, mask and normalisation in the scores' own memory, the
// probabilities kept once for the backward pass.

struct MaskedSoftmaxInputs {
  at::Tensor scores;  // [B, H, Lq, Lk], contiguous; overwritten
  at::Tensor bias;    // broadcastable to the scores, or undefined
  at::Tensor mask;    // bool, broadcastable, true = visible; undefined: all visible
};

// -> probabilities [B, H, Lq, Lk]; 0 where hidden, and in rows where everything is hidden. Their
// gradient is overwritten in the backward pass: it must come from operations that make it anew.
at::Tensor masked_softmax(const MaskedSoftmaxInputs& inputs);

// Log-n scaling (Su, kexue.fm/archives/8823; bojone/rerope): scores grow with the logarithm of the
// number of keys, so that the entropy of attention stays as it was at the training length.

// query: max(1, ln n / ln T) for the query that sees n = i + 1 keys; query_unclipped: without the
// maximum; encoder: ln max(n, 16) / ln T for a sequence of n tokens (bert4keras).
double log_n_factor(LogNScaling scaling, std::int64_t n, std::int64_t training_length);

// The factors of the queries, broadcastable to [B, H, Lq, D], in the given type.
at::Tensor log_n_factors(const AttentionSettings& settings, const AttentionContext& context,
                         at::ScalarType type);

}  // namespace roformer
