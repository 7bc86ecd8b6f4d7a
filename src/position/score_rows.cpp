#include "position/score_rows.h"

#include <algorithm>

#include "base/error.h"

namespace roformer {

VisibleRows::VisibleRows(const at::Tensor& scores, const at::Tensor& mask) {
  ROFORMER_ASSERT(scores.is_contiguous());
  const std::int64_t queries = scores.size(-2), keys = scores.size(-1);
  pairs_.keys = keys;
  if (!mask.defined()) return;
  // One for all heads of all texts is not written out for each.
  const bool shared = mask.numel() == mask.size(-2) * mask.size(-1);
  mask_ = shared ? mask.reshape({mask.size(-2), mask.size(-1)}).expand({queries, keys})
                 : mask.expand(scores.sizes());
  mask_ = mask_.contiguous();
  pairs_.visible = mask_.const_data_ptr<bool>();
  pairs_.rows = mask_.numel() / std::max<std::int64_t>(1, keys);
}

}  // namespace roformer
