// Rows of scores as the loops of score_kernels.h take them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "tensor/parallel.h"
#include "tensor/score_kernels.h"

namespace roformer {

// Calls function(begin, end) over rows of scores [.., Lk] in parallel.
template <typename Function>
void for_score_rows(const at::Tensor& scores, const Function& function) {
  const std::int64_t keys = scores.size(-1);
  for_rows(keys > 0 ? scores.numel() / keys : 0, keys, function);
}

// What the rows of contiguous scores [B, H, Lq, Lk] see of a mask that can be broadcast to them;
// undefined: all.
class VisibleRows {
 public:
  VisibleRows(const at::Tensor& scores, const at::Tensor& mask);

  // Valid as long as this lives.
  kernels::VisiblePairs pairs() const { return pairs_; }

 private:
  at::Tensor mask_;
  kernels::VisiblePairs pairs_;
};

}  // namespace roformer
