// Softmax attention without its [L, L] matrix in memory: LibTorch's fused kernel for CPUs, with the
// projection's bias and the rotation of q and k merged into the passes that have to touch them
// anyway.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>

#include "position/scheme.h"
#include "tensor/token_layout.h"

namespace roformer {

struct FusedAttentionInputs {
  // [T, (H + 2G) * D]: q, k, v of each token before the bias. Consumed: the memory is overwritten.
  at::Tensor projected;
  at::Tensor bias;  // [(H + 2G) * D] or undefined: none
  const TokenLayout& layout;
  std::int64_t heads = 0;            // H
  std::int64_t key_value_heads = 0;  // G, a divisor of H
  double scale = 1;
  bool causal = false;  // hide future keys; not needed where `additive` hides them
  // Of a sequence of the given length.
  std::function<std::optional<RotationPair>(std::int64_t length)> rotation;
  std::function<at::Tensor(std::int64_t length)> additive;  // [1, 1 or H, L, L] or undefined
};

// -> [T, H * D]. A bias that needs a gradient gets it from a backward pass of our own, which
// recomputes the probabilities for a few heads at a time.
at::Tensor fused_attention(const FusedAttentionInputs& inputs);

}  // namespace roformer
