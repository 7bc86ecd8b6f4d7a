// Softmax attention over packed q, k, v that never stores the [L, L] matrix. One pass adds the
// projection's bias and rotates q and k.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/relative_terms.h"
#include "tensor/rotation.h"
#include "tensor/token_layout.h"

namespace roformer {

// The positional terms of texts of one length L.
struct BlockTerms {
  std::optional<RotationPair> rotation;
  // [1, 1 or H, L, L], or by difference of positions [1 or H, 2L - 1] (TiledAttention), or
  // undefined.
  at::Tensor additive;
};

struct FusedAttentionInputs {
  // [T, (H + 2G) * D]: q, k, v of each token before the bias. Consumed: the memory is overwritten.
  at::Tensor projected;
  at::Tensor bias;  // [(H + 2G) * D] or undefined: none
  const TokenLayout& layout;
  std::int64_t heads = 0;            // H
  std::int64_t key_value_heads = 0;  // G, a divisor of H
  double scale = 1;
  bool causal = false;             // hide future keys; a full `additive` hides them itself
  std::vector<BlockTerms> blocks;  // of each block of the layout
  // c, float64 [H, T]: c_i - c_j is added to the score of query i and key j of a sequence. Requires
  // that `additive` is undefined. CPU only.
  at::Tensor sums = {};
  // Terms of relative vectors for the longest text. CPU only; then `additive` must be by
  // difference.
  std::vector<RelativeTerm> relative = {};
  at::Tensor text_starts = {};  // for packed_attention(): PositionSession::text_starts()
};

// -> [T, H * D]. `additive` must have the same form in all blocks. Its gradient is computed if
// required.
at::Tensor fused_attention(const FusedAttentionInputs& inputs);

// Whether packed_attention can be used: requires bfloat16, a head width that is a multiple of 8 and
// at most 128, and a GPU for which LibTorch has the flash kernel.
bool can_pack_attention(const at::Tensor& projected, std::int64_t head_width);

// fused_attention for schemes that only rotate queries and keys, on GPUs: LibTorch's flash kernel
// for texts of different lengths (Dao 2023, FlashAttention-2), cuDNN's for texts of equal length.
// `projected` is not overwritten.
at::Tensor packed_attention(const FusedAttentionInputs& inputs);

}  // namespace roformer
