// CoPE's operation on a matrix of scores (Golovneva 2024): positions are counted by gates of the
// content, and each score gains the query's product with the vector of its position, interpolated
// between whole positions.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

// p_ij = min(sum over t = j..i of sigmoid(scores_it), positions - 1), hidden positions counting 0.
// scores [B, H, Lq, Lk], mask as AttentionContext's -> the same shape as scores.
at::Tensor contextual_positions(const at::Tensor& scores, const at::Tensor& mask,
                                std::int64_t positions);

// scores_ij + the interpolation of products_i [positions] at p_ij; scores change in place on CPUs.
// products [B, H, Lq, positions]. No gradient flows through floor, ceil and min.
at::Tensor add_contextual_products(const at::Tensor& scores, const at::Tensor& products,
                                   const at::Tensor& mask);

}  // namespace roformer
