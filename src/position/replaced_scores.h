// Replaces the scores of some pairs by those of a second rotation of q and k. Schemes that remap
// far distances use this.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "position/scheme.h"

namespace roformer {

// i - j of every pair, int64 [Lq, Lk], on the host.
at::Tensor past_of_pairs(const AttentionContext& context);

// scores[i, j] = query_i . key_j wherever far[i, j]. query, key [B, H, L, D]; scores [B, H, Lq, Lk]
// change in place; far bool [Lq, Lk] on the host, so that parts without far pairs are skipped. At
// most `most` far scores are stored at a time, but at least those of 128 queries of one text;
// std::nullopt: a number that suits the device.
at::Tensor replace_scores(const at::Tensor& scores, const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& far_pairs,
                          std::optional<std::int64_t> most = std::nullopt);

}  // namespace roformer
