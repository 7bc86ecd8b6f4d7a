// Splits attention by queries: the scores of a part fit in a core's cache, and under causality keys
// after the part's last query are never used.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "position/scheme.h"

namespace roformer {

// Queries first .. first + count - 1 of a context, with the first `keys` of its keys.
struct QueryPart {
  std::int64_t first = 0, count = 0;
  std::int64_t keys = 0;
};

// Splits all queries of a context into parts of at most `most`. Under causality the queries are the
// last of the tokens, and a part's last query is its last key.
std::vector<QueryPart> query_parts(const AttentionContext& context, std::int64_t most);

// The context of one part, without token inputs.
AttentionContext part_of(const AttentionContext& context, const QueryPart& part);
// The part's slice of a tensor over all pairs, [.., Lq or 1, Lk]; undefined stays undefined.
at::Tensor pairs_of(const at::Tensor& pairs, const QueryPart& part);

// Splits x [B, H, Lq, ..] into the parts' queries.
std::vector<at::Tensor> by_queries(const at::Tensor& x, const std::vector<QueryPart>& parts);
// Splits x [B, H, Lk, ..] into the parts' keys, which overlap. Gradients are summed in one tensor.
std::vector<at::Tensor> by_keys(const at::Tensor& x, const std::vector<QueryPart>& parts);
// The same without the keys of the previous part. The first part includes all keys before it.
std::vector<at::Tensor> by_own_keys(const at::Tensor& x, const std::vector<QueryPart>& parts);

}  // namespace roformer
