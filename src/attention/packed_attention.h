// Softmax attention on GPUs over concatenated texts without padding: LibTorch's flash kernel for
// texts of different lengths (Dao 2023, FlashAttention-2), cuDNN's for texts of equal length. For
// schemes that only rotate queries and keys.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "attention/fused_attention.h"

namespace roformer {

// Whether the kernel supports this input: bfloat16, a head width that is a multiple of 8 and at
// most 128, and a GPU for which LibTorch has the kernel.
bool can_pack_attention(const at::Tensor& projected, std::int64_t head_width);

// Like fused_attention without an additive term; `projected` is not overwritten.
at::Tensor packed_attention(const FusedAttentionInputs& inputs);

}  // namespace roformer
