// Scores q_i H_i H_i-1 .. H_j+1 k_j with H_l = I - beta_l w_l w_l^T, in chunks: keys are carried
// forward from chunk to chunk, and no matrix [D, D] is ever built.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roformer {

struct HouseholderInputs {
  at::Tensor query;  // [B, H, Lq, D], of the last Lq tokens
  at::Tensor key;    // [B, H, Lk, D]: the first `settled` as the token after them sees them
  at::Tensor w;      // [B, H, Lk - settled, D] of the remaining tokens, of about unit length
  at::Tensor beta;   // [B, H, Lk - settled]
  std::int64_t settled = 0;
  double scale = 1;
};

// scale * the products -> [B, H, Lq, Lk], 0 for keys after the query. Differentiable, composed of
// LibTorch's operations. Yang 2025, section 3.
at::Tensor householder_scores(const HouseholderInputs& inputs);

// The keys as the token after all of them sees them, [B, H, Lk, D].
at::Tensor settled_keys(const HouseholderInputs& inputs);

}  // namespace roformer
