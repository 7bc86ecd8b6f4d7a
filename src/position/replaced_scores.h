// Scores of some pairs from another rotation of q and k than the rest: what schemes that count far
// distances otherwise are made of.
#pragma once

#include <ATen/core/Tensor.h>

#include "position/scheme.h"

namespace roformer {

// i - j of every pair, int64 [Lq, Lk], on the host.
at::Tensor past_of_pairs(const AttentionContext& context);

// scores[i, j] = query_i . key_j wherever far[i, j], a few queries at a time. query, key [B, H, L,
// D]; scores [B, H, Lq, Lk] change in place; far bool [Lq, Lk] on the
// host, which asks it where there is nothing to do.
at::Tensor replace_scores(const at::Tensor& scores, const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& far_pairs);

}  // namespace roformer
