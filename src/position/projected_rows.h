// Products v . (W r) of vectors with table rows r that a layer projects. A decoding step has one
// vector and a row for every token of the text; it computes (W^T v) . r instead, so that the table
// is not projected again for every token.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

// The products are vectors . table: [B, H, L, D] and [H, R, D], or [B, H, L, M] and [1, R, M].
struct ProjectedRows {
  at::Tensor vectors;
  at::Tensor table;
};

// vectors [B, H, L, D], rows [R, M], weight [H * D, M]: the cheaper form. Differentiable.
ProjectedRows projected_rows(const at::Tensor& vectors, const at::Tensor& rows,
                             const at::Tensor& weight);

}  // namespace roformer
