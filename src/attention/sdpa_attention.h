// Scaled dot-product attention over rotated queries and keys with an optional additive term, by the
// fastest kernel for the device and the number of queries. B texts, H heads.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

struct SdpaInputs {
  at::Tensor query;       // [B, H, Lq, D]
  at::Tensor key, value;  // [B, H, Lk, D]; on a CPU they may have fewer heads, a divisor of H
  at::Tensor additive;    // broadcasts to [B, H, Lq, Lk], -infinity hides; or undefined
  bool causal = false;    // without `additive`: query i sees keys up to i; a single query sees all
  double scale = 1;
};

// -> [B, H, Lq, D]. Stores nothing of the size [Lq, Lk] except the additive term.
at::Tensor sdpa_attention(const SdpaInputs& in);

}  // namespace roformer
