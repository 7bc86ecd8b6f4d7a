// Products of vectors with a scheme's rows that a layer projects first: v . (W r). A step of
// decoding has one vector and as many rows as the text is long; there the vectors go through the
// weight instead, (W^T v) . r, so that no table is projected anew for every token.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

// vectors . table is what is asked for: [B, H, L, D] and [H, R, D], or [B, H, L, M] and [1, R, M].
struct ProjectedRows {
  at::Tensor vectors;
  at::Tensor table;
};

// vectors [B, H, L, D], rows [R, M], weight [H * D, M]: the cheaper of the two, with their graphs.
ProjectedRows projected_rows(const at::Tensor& vectors, const at::Tensor& rows,
                             const at::Tensor& weight);

}  // namespace roformer
