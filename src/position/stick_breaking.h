// The weights of stick-breaking attention, from the nearest key to the farthest.
#pragma once

#include <ATen/core/Tensor.h>

#include "position/scheme.h"

namespace roformer {

// A_ij = sigmoid(s_ij) times all 1 - sigmoid(s_il) of the visible keys l > j; the remainder is the
// product over all of them. scores [B, H, Lq, Lk] in the accumulating type, overwritten on CPUs;
// mask bool, broadcastable, true = visible; undefined: all. Tan 2025, eq. 3 and 4.
AttentionWeights stick_breaking_weights(const at::Tensor& scores, const at::Tensor& mask);

}  // namespace roformer
