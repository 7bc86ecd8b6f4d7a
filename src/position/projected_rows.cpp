#include "position/projected_rows.h"

#include <ATen/ops/matmul.h>

namespace roformer {

ProjectedRows projected_rows(const at::Tensor& vectors, const at::Tensor& rows,
                             const at::Tensor& weight) {
  const std::int64_t heads = vectors.size(1), width = vectors.size(3);
  if (vectors.size(0) * vectors.size(2) < width) {
    return {.vectors = at::matmul(vectors.to(weight.scalar_type()),
                                  weight.view({heads, width, weight.size(1)})),
            .table = rows.unsqueeze(0)};
  }
  return {.vectors = vectors,
          .table = at::matmul(rows, weight.t()).view({rows.size(0), heads, width}).transpose(0, 1)};
}

}  // namespace roformer
