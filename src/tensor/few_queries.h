// Softmax attention for a few queries, as a step of decoding has them: without a product of
// matrices for each head, whose calls cost more than what they compute. On CPUs, without a graph. B
// texts, H heads of queries, G of keys (H a multiple of G), Q queries, L keys, D features of a
// head.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

struct FewQueryAttention {
  at::Tensor query;       // [B, H, Q, D]
  at::Tensor key, value;  // [B, G, L, D], each row's features side by side
  at::Tensor additive;    // broadcasts to [B, H, Q, L], -infinity hides; or undefined
  double scale = 1;
};

// Whether there are so few queries that it pays, on a device and in a mode that it is for.
bool can_attend_few(const FewQueryAttention& in);

// -> [B, H, Q, D], a view of [B, Q, H, D]. Zeros where all keys are hidden.
at::Tensor attend_few(const FewQueryAttention& in);

}  // namespace roformer
