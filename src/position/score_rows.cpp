#include "position/score_rows.h"

#include <algorithm>
#include <vector>

namespace roformer {

SharedRows::SharedRows(const at::Tensor& scores, const at::Tensor& shared) {
  if (!shared.defined()) return;
  std::vector<std::int64_t> sizes = scores.sizes().vec();
  // Leading dimensions of one are the same for all that is in front of the others.
  at::Tensor x = shared;
  while (x.dim() > 2 && x.size(0) == 1) x = x.squeeze(0);
  sizes.erase(sizes.begin(), sizes.end() - x.dim());
  rows_ = x.expand(sizes).contiguous();
  count_ = std::max<std::int64_t>(1, rows_.numel() / std::max<std::int64_t>(1, scores.size(-1)));
}

}  // namespace roformer
