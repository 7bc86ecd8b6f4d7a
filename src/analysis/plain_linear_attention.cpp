#include "analysis/plain_linear_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

namespace roformer {

at::Tensor cumulative_linear_attention(const LinearFeatures& features, const at::Tensor& value) {
  const at::Tensor states =  // [B, H, L, F, D]
      (features.rotated_key.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(2);
  const at::Tensor sums = at::matmul(features.rotated_query.unsqueeze(-2), states).squeeze(-2);
  return sums / linear_denominator(features, /*causal=*/true);
}

}  // namespace roformer
