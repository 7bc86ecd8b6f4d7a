// Products that are added to a gradient which is there.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

// total [M, N] += a^T b of a [K, M] and b [K, N], both of one type. The total may be float where
// they are bfloat16: then the sums are float, without a rounding of the product where the
// processor has matrix instructions, else after one.
void add_transposed_product(const at::Tensor& total, const at::Tensor& a, const at::Tensor& b);

}  // namespace roformer
