// Causal linear attention as its formula reads: the state after every key is written out, then each
// query is multiplied with its own. Large and slow on purpose: what the chunked form of
// attention/linear_attention.h is tested against and compared with.
#pragma once

#include <ATen/core/Tensor.h>

#include "attention/linear_attention.h"

namespace roformer {

// Queries and keys are the same positions; value [B, H, L, D] -> [B, H, L, D]. Holds numbers for
// [B, H, L, F, D].
at::Tensor cumulative_linear_attention(const LinearFeatures& features, const at::Tensor& value);

}  // namespace roformer
