// Causal softmax attention whose scores fall by c_i - c_j, the differences of running sums that
// each head and text has of its own (a forget gate's logarithms, say). Rows of queries go by a few
// at a time, forward and backward, so that no [L, L] matrix of a bias, of scores or of
// probabilities is ever kept. On a CPU, where nothing but the future is hidden, tiles do the same
// faster (tensor/tiled_attention.h).
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

struct RunningSumInputs {
  at::Tensor query;  // [B, H, L, D], rotated
  at::Tensor key;    // [B, H, L, D], of the same tokens
  at::Tensor value;  // [B, H, L, D]
  at::Tensor sums;   // c, float64 [B, H, L]
  // Bool [L, L], true = visible, which hides the future, too; undefined: hides that alone.
  at::Tensor mask;
  double scale = 1;
};

// -> [B, H, L, D]. Within a block of rows c counts from the block's first row, in float64: a
// difference of neighbours is exact however large the sums have grown.
at::Tensor running_sum_attention(const RunningSumInputs& inputs);

}  // namespace roformer
