// The two sums of causal linear attention (Katharopoulos 2020, section 3.3), over the keys up to the
// query, chunk by chunk: a chunk's queries meet their own keys as a matrix and all earlier ones
// through one state, so that neither a matrix of L x L nor a state of every token is held.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

// sum over j <= i of (query_i . key_j) value_j. query and key [B, H, L, F], value [B, H, L, D]
// -> [B, H, L, D]; float or double.
at::Tensor causal_products(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value);

// sum over j <= i of query_i . key_j. [B, H, L, F] -> [B, H, L, 1]; float or double.
at::Tensor causal_denominators(const at::Tensor& query, const at::Tensor& key);

}  // namespace roformer
