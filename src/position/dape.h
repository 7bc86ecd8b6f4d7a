// The network of DAPE: two layers over the heads at each pair, computed for a few rows at a time to
// bound memory.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

struct ScoreNetwork {
  at::Tensor first_weight;   // [K, C, w]: K neighbouring keys, C channels
  at::Tensor first_bias;     // [w]
  at::Tensor second_weight;  // [K, w, H]
  at::Tensor second_bias;    // [H]
  double slope = 0.01;       // of the LeakyReLU between them
};

struct ScoreNetworkInputs {
  at::Tensor scores;  // A [B, H, Lq, Lk] in the accumulating type
  at::Tensor bias;    // b [H, Lq, Lk], of which C = 2H; undefined: C = H
  at::Tensor past;    // bool [Lq, Lk]: what the first layer sees; undefined: all
  ScoreNetwork network;
};

// A + b + f(A, b) -> [B, H, Lq, Lk], with gradients of all but `past`; hidden layers are computed
// again in the backward pass.
at::Tensor with_score_network(const ScoreNetworkInputs& inputs);

}  // namespace roformer
