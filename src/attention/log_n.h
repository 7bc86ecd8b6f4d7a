// Log-n scaling (Su, kexue.fm/archives/8823; bojone/rerope): scores grow with the logarithm of the
// number of keys, so that the entropy of attention stays as it was at the training length.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "config/attention_settings.h"
#include "position/scheme.h"

namespace roformer {

// query: max(1, ln n / ln T) for the query that sees n = i + 1 keys; query_unclipped: without the
// maximum; encoder: ln max(n, 16) / ln T for a sequence of n tokens (bert4keras).
double log_n_factor(LogNScaling scaling, std::int64_t n, std::int64_t training_length);

// The factors of the queries, broadcastable to [B, H, Lq, D], in the given type.
at::Tensor log_n_factors(const AttentionSettings& settings, const AttentionContext& context,
                         at::ScalarType type);

}  // namespace roformer
