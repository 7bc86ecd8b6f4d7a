// The softmax of attention scores: bias, mask and normalisation in the scores' own memory, the
// probabilities kept once for the backward pass.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

struct MaskedSoftmaxInputs {
  at::Tensor scores;  // [B, H, Lq, Lk], contiguous; overwritten
  at::Tensor bias;    // broadcastable to the scores, or undefined
  at::Tensor mask;    // bool, broadcastable, true = visible; undefined: all visible
};

// -> probabilities [B, H, Lq, Lk]; 0 where hidden, and in rows where everything is hidden. Their
// gradient is overwritten in the backward pass: it must come from operations that make it anew.
at::Tensor masked_softmax(const MaskedSoftmaxInputs& inputs);

}  // namespace roformer
