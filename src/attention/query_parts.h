// Attention of some queries after the other: their scores stay in a core's reach, and under
// causality what comes after the last of them is never computed.
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

// All queries of a context in parts of at most `most`. Under causality they are the last of its
// tokens, and a part's last query sees its last key.
std::vector<QueryPart> query_parts(const AttentionContext& context, std::int64_t most);

// What a scheme is asked of a part alone, but for the token inputs.
AttentionContext part_of(const AttentionContext& context, const QueryPart& part);
// A part of what all pairs have, [.., Lq or 1, Lk]; undefined stays so.
at::Tensor pairs_of(const at::Tensor& pairs, const QueryPart& part);

// x [B, H, Lq, ..] by the parts' queries.
std::vector<at::Tensor> by_queries(const at::Tensor& x, const std::vector<QueryPart>& parts);
// x [B, H, Lk, ..] by the parts' keys, which overlap; their gradients are added up in one tensor.
std::vector<at::Tensor> by_keys(const at::Tensor& x, const std::vector<QueryPart>& parts);
// The same without those of the part before: a part's own, the first also what is in front of it.
std::vector<at::Tensor> by_own_keys(const at::Tensor& x, const std::vector<QueryPart>& parts);

}  // namespace roformer
