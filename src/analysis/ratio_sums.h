// A ratio of two sums over texts, and how far it may be from that of all the text that these were
// drawn from. Both are added up as the texts come, so that nothing grows with their number.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace roformer {

class RatioSums {
 public:
  // `values` and `weights` of some texts, [B, ..]; weights may be as wide as 1 instead. The ratio
  // is that of the sum of the values to the sum of the weights.
  void add(const at::Tensor& values, const at::Tensor& weights);
  bool empty() const { return !values_.defined(); }

  at::Tensor ratio() const;  // [..]; 0 where no text has a weight
  // By the texts that have a weight, as ClusteredMean has it; NaN for fewer than two.
  at::Tensor standard_error() const;

 private:
  at::Tensor values_, squares_, products_, weights_, weight_squares_, count_;  // [..] float64
};

}  // namespace roformer
