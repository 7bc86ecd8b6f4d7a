// What is most likely in each row of logits, found in one go: the logarithm of the sum of the
// exponentials, and the largest values. R rows, V columns.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

namespace roformer {

struct RowTops {
  at::Tensor values;       // [R, wanted], falling
  at::Tensor ids;          // [R, wanted] int64; of equal values the lower id stands first
  at::Tensor normalizers;  // [R]
};

// logits [R, V] float32 on the CPU, 1 <= wanted <= V. What is excluded becomes minus infinity in
// `logits` and stands behind everything else; it counts in the normalizers unless `renormalize`.
struct RowTopsRequest {
  std::int64_t wanted = 1;
  std::span<const std::int64_t> excluded;  // columns, each once; those beyond V are none
  bool renormalize = false;
};
RowTops row_tops(at::Tensor& logits, const RowTopsRequest& request);

}  // namespace roformer
