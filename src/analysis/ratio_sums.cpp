#include "analysis/ratio_sums.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>

#include <limits>

namespace roformer {

void RatioSums::add(const at::Tensor& values, const at::Tensor& weights) {
  const at::Tensor value = values.to(at::kDouble).cpu();
  const at::Tensor weight = weights.to(at::kDouble).cpu().expand_as(value);
  const auto put = [](at::Tensor& sum, const at::Tensor& of_texts) {
    const at::Tensor more = of_texts.sum(0);
    sum = sum.defined() ? sum + more : more;
  };
  put(values_, value);
  put(squares_, value.square());
  put(products_, value * weight);
  put(weights_, weight);
  put(weight_squares_, weight.square());
  put(count_, (weight != 0).to(at::kDouble));
}

at::Tensor RatioSums::ratio() const {
  return at::where(weights_ != 0, values_ / weights_, 0.0);
}

at::Tensor RatioSums::standard_error() const {
  const at::Tensor mean = ratio();
  const at::Tensor squares =
      (squares_ - 2 * mean * products_ + mean.square() * weight_squares_).clamp_min(0);
  return at::where(count_ > 1, (squares * count_ / (count_ - 1)).sqrt() / weights_.abs(),
                   std::numeric_limits<double>::quiet_NaN());
}

}  // namespace roformer
