// The mean of queries or keys at each position over texts, as it is added up text by text, and how
// much of it the positions alone explain. H heads, L length (of the longest text), D head width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roformer {

class PositionMoments {
 public:
  explicit PositionMoments(std::int64_t length) : length_(length) {}

  // Queries or keys of some texts of one length l <= L, [B, H, l, D].
  void add(const at::Tensor& x);

  // [H, L, D] float, on the CPU: the means less their mean over positions, each drawn towards 0 by
  // the share of its variance that the texts' own variance explains (James and Stein 1961, the
  // positive part), which is more where fewer texts reach. `counts` [L, 1] float64: how many of the
  // texts tell something about a position; 0 where fewer than two do.
  at::Tensor means(const at::Tensor& counts) const;

 private:
  std::int64_t length_;
  at::Tensor sum_, squares_;  // [H, L, D] float64
};

}  // namespace roformer
