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
  // Of bfloat16 on a GPU: in float where gradients are recorded. On a CPU they always are.
  bool exact_gradient = false;
};

// -> [B, H, Lq, D]. Stores nothing of the size [Lq, Lk] except the additive term.
at::Tensor sdpa_attention(const SdpaInputs& in);

// Causal softmax attention that adds c_i - c_j to the scores, where c are running sums for each
// head and text (of a forget gate's logarithms, for instance). It processes blocks of queries,
// forward and backward, and never stores an [L, L] matrix. On CPUs with only causal masking, tiles
// are faster (tensor/tiled_attention.h).
struct RunningSumInputs {
  at::Tensor query;  // [B, H, L, D], rotated
  at::Tensor key;    // [B, H, L, D], of the same tokens
  at::Tensor value;  // [B, H, L, D]
  at::Tensor sums;   // c, float64 [B, H, L]
  // Bool [L, L], true = visible; must hide future keys, too. Undefined: causality only.
  at::Tensor mask;
  double scale = 1;
};

// -> [B, H, L, D]. Within a block, c is relative to the block's first row in float64, so that
// differences of neighbours stay exact however large the sums are.
at::Tensor running_sum_attention(const RunningSumInputs& inputs);

}  // namespace roformer
