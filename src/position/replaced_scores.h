// Operations on the matrix of scores: one replaces far scores by those of a second rotation of q
// and k; others give the loops of tensor/attention_kernels.h their rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>

#include "position/scheme.h"
#include "tensor/attention_kernels.h"
#include "tensor/parallel.h"

namespace roformer {

// i - j of every pair, int64 [Lq, Lk], on the host.
at::Tensor past_of_pairs(const AttentionContext& context);

// Sets scores[i, j] = query_i . key_j wherever far[i, j]. query, key [B, H, L, D]; scores [B, H,
// Lq, Lk] change in place; far bool [Lq, Lk] is on the host, so that parts without far pairs are
// skipped. Holds at most `most` far scores at a time, but at least those of 128 queries of one
// text; std::nullopt: a number that suits the device.
at::Tensor replace_scores(const at::Tensor& scores, const at::Tensor& query, const at::Tensor& key,
                          const at::Tensor& far_pairs,
                          std::optional<std::int64_t> most = std::nullopt);

// Calls function(begin, end) over rows of scores [.., Lk] in parallel.
template <typename Function>
void for_score_rows(const at::Tensor& scores, const Function& function) {
  const std::int64_t keys = scores.size(-1);
  for_rows(keys > 0 ? scores.numel() / keys : 0, keys, function);
}

// A tensor that broadcasts to scores [B, H, Lq, Lk], expanded only as far as its rows differ. Row r
// of the scores uses its row r % count().
class SharedRows {
 public:
  // An undefined `shared` has no rows.
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

  // Valid as long as this object.
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
