// Scores q_i H_i H_i-1 .. H_j+1 k_j with H_l = I - beta_l w_l w_l^T, in chunks: keys are carried
// forward from chunk to chunk, and no matrix [D, D] is ever built.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roformer {

struct HouseholderInputs {
  at::Tensor query;  // [B, H, Lq, D], of the last Lq tokens
  at::Tensor key;    // [B, H, Lk, D]: the first `settled` as they stand for the token behind them
  at::Tensor w;      // [B, H, Lk - settled, D] of the tokens behind those, of about unit length
  at::Tensor beta;   // [B, H, Lk - settled]
  std::int64_t settled = 0;
  double scale = 1;
};

// scale * the products -> [B, H, Lq, Lk], 0 for keys behind the query. By LibTorch's operations,
// with their gradients; Yang 2025, section 3.
at::Tensor householder_scores(const HouseholderInputs& inputs);

// The keys as they stand for the token behind all of them, [B, H, Lk, D].
at::Tensor settled_keys(const HouseholderInputs& inputs);

}  // namespace roformer
