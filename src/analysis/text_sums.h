// Running sums over texts, whose memory does not grow with the number of texts: ratios with their
// standard errors, and the means of queries or keys at each position. H heads, L length (of the
// longest text), D head width.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roformer {

class RatioSums {
 public:
  // `values` and `weights` of some texts, [B, ..]; weights may have width 1 instead. The ratio is
  // the sum of the values divided by the sum of the weights.
  void add(const at::Tensor& values, const at::Tensor& weights);
  bool empty() const { return !values_.defined(); }

  at::Tensor ratio() const;  // [..]; 0 if no text has a weight
  // The standard error over the texts that have a weight, as in ClusteredMean; NaN for fewer than
  // two.
  at::Tensor standard_error() const;

 private:
  at::Tensor values_, squares_, products_, weights_, weight_squares_, count_;  // [..] float64
};

class PositionMoments {
 public:
  explicit PositionMoments(std::int64_t length) : length_(length) {}

  // Queries or keys of some texts of one length l <= L, [B, H, l, D].
  void add(const at::Tensor& x);

  // [H, L, D] float, on the CPU: the means minus their mean over positions. Each is shrunk towards
  // 0 by the share of its variance that the texts' own variance explains (James and Stein 1961, the
  // positive part); the share is larger at positions that fewer texts reach. `counts` [L, 1]
  // float64: the number of texts that give information about a position; 0 if fewer than two do.
  at::Tensor means(const at::Tensor& counts) const;

 private:
  std::int64_t length_;
  at::Tensor sum_, squares_;  // [H, L, D] float64
};

}  // namespace roformer
