// Softmax attention over packed q, k, v that never stores the [L, L] matrix. One pass adds the
// projection's bias and rotates q and k.
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
  bool causal = false;  // hide future keys; a full `additive` hides them itself
  // The rotation for a sequence of the given length.
  std::function<std::optional<RotationPair>(std::int64_t length)> rotation;
  // The additive term for a length: [1, 1 or H, L, L], or by difference of positions
  // [1 or H, 2L - 1] (TiledAttention), or undefined.
  std::function<at::Tensor(std::int64_t length)> additive;
  // c, float64 [H, T]: c_i - c_j is added to the score of query i and key j of a sequence. Requires
  // that `additive` is undefined. CPU only.
  at::Tensor sums = {};
  at::Tensor text_starts = {};  // for packed_attention(): PositionSession::text_starts()
};

// -> [T, H * D]. `additive` must use the same form for all lengths. Its gradient is computed if
// required.
at::Tensor fused_attention(const FusedAttentionInputs& inputs);

}  // namespace roformer
