// Rows of scores in the form that the loops of score_kernels.h take.
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

// A tensor that broadcasts to scores [B, H, Lq, Lk], expanded only as far as its rows differ: row r
// of the scores uses row r % count().
class SharedRows {
 public:
  // Undefined: nothing.
  SharedRows(const at::Tensor& scores, const at::Tensor& shared);

  const at::Tensor& rows() const { return rows_; }  // [.., Lk] contiguous, or undefined
  std::int64_t count() const { return count_; }

 private:
  at::Tensor rows_;
  std::int64_t count_ = 1;
};

// The mask for each row of scores, bool, true = visible; undefined: all visible.
class VisibleRows {
 public:
  VisibleRows(const at::Tensor& scores, const at::Tensor& mask)
      : mask_(scores, mask), keys_(scores.size(-1)) {}

  // Valid as long as this lives.
  kernels::VisiblePairs pairs() const {
    const at::Tensor& rows = mask_.rows();
    return {.visible = rows.defined() ? rows.const_data_ptr<bool>() : nullptr,
            .rows = mask_.count(),
            .keys = keys_};
  }

 private:
  SharedRows mask_;
  std::int64_t keys_;
};

}  // namespace roformer
