// Scores of some pairs from another rotation of q and k than the rest: what schemes that count far
// distances otherwise are made of.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "position/scheme.h"

namespace roformer {

// i - j of every pair, int64 [Lq, Lk], on the host.
at::Tensor past_of_pairs(const AttentionContext& context);

// scores[i, j] = query_i . key_j wherever far[i, j], a few queries of a text at a time and on GPUs
// of several texts. query, key [B, H, L, D]; scores [B, H, Lq, Lk] change in place; far bool [Lq,
// Lk] on the host, which asks it where there is nothing to do. `most` far scores are held at a
// time, those of 128 queries of one text at least; by default what suits the device.
at::Tensor replace_scores(const at::Tensor& scores, const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& far_pairs,
                          std::optional<std::int64_t> most = std::nullopt);

}  // namespace roformer
