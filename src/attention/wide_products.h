// The two matrix products of explicit attention in the accumulating type: bfloat16 queries and keys
// give float scores, and the gradient of the probabilities is float, too, so that neither the
// softmax nor its gradient is computed from rounded numbers.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

// a b, [.., M, K] [.., K, N] -> [.., M, N] in the accumulating type. Not differentiable.
at::Tensor wide_product(const at::Tensor& a, const at::Tensor& b);

// scale * query key^T. query [B, H, Lq, D], key [B, H, Lk, D] -> [B, H, Lq, Lk] in the
// accumulating type.
at::Tensor content_scores(const at::Tensor& query, const at::Tensor& key, double scale);

// probabilities value. probabilities [B, H, Lq, Lk] in the accumulating type, value [B, H, Lk, D]
// -> [B, H, Lq, D] in value's type.
at::Tensor weighted_values(const at::Tensor& probabilities, const at::Tensor& value);

}  // namespace roformer
