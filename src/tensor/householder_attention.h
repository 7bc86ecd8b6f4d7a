// Causal softmax attention whose scores multiply the matrices of all tokens between query and key:
// q_i H_i H_i-1 .. H_j+1 k_j with H_l = I - beta_l w_l w_l^T (PaTH, Yang 2025, arXiv:2505.16381,
// section 3). One head of one text at a time, in chunks whose products are one matrix (the WY
// form), so that scores and products stay in a core's cache.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

struct HouseholderAttention {
  at::Tensor query, key, value;  // [B, H, L, D] with contiguous features
  at::Tensor w;                  // [B, H, L, D] in the accumulating type, about unit length
  at::Tensor beta;               // [B, H, L], the same type
  double scale = 1;
};

// -> [B, H, L, D] in the query's type, with gradients of all five. Arithmetic is in the
// accumulating type. On a CPU with block products (products.h) only.
at::Tensor householder_attention(const HouseholderAttention& attention);

// The unit vectors of PaTH: a causal convolution over each feature's tokens, SiLU, and division by
// sqrt(|v|^2 + epsilon). input [B, H, L, D], float or double; weight [H * D, K] of the same type,
// the token itself last -> [B, H, L, D], with gradients. On CPUs only.
at::Tensor householder_directions(const at::Tensor& input, const at::Tensor& weight,
                                  double epsilon);

}  // namespace roformer
