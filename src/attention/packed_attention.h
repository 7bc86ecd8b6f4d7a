// Softmax attention on GPUs over texts of any lengths as they lie, end to end and without padding:
// LibTorch's flash kernel for sequences of different lengths (Dao 2023, FlashAttention-2), and
// cuDNN's where all have one. For schemes that rotate queries and keys and add nothing to the
// scores.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "attention/fused_attention.h"

namespace roformer {

// Whether the kernel takes such rows: bfloat16, heads of a multiple of 8 features and at most 128,
// on a GPU for which LibTorch has it.
bool can_pack_attention(const at::Tensor& projected, std::int64_t head_width);

// As fused_attention, with nothing additive; `projected` is left as it is.
at::Tensor packed_attention(const FusedAttentionInputs& inputs);

}  // namespace roformer
