#include "analysis/text_sums.h"

#include <limits>

#include "tensor/aten.h"

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

void PositionMoments::add(const at::Tensor& x) {
  const at::Tensor wide = x.to(at::kDouble).cpu();
  const auto put = [this](at::Tensor& sum, const at::Tensor& of_texts) {
    const at::Tensor more =
        at::constant_pad_nd(of_texts.sum(0), {0, 0, 0, length_ - of_texts.size(2)});
    sum = sum.defined() ? sum + more : more;
  };
  put(sum_, wide);
  put(squares_, wide.square());
}

at::Tensor PositionMoments::means(const at::Tensor& counts) const {
  const at::Tensor known = counts > 1;
  const at::Tensor n = counts.clamp_min(2);
  const at::Tensor mean = sum_ / n;
  const at::Tensor used = known.to(at::kDouble);
  const at::Tensor positions = used.sum().clamp_min(1);
  const at::Tensor centre = (mean * used).sum(1, true) / positions;
  const at::Tensor apart = at::where(known, mean - centre, 0.0);
  // The variance of one text, the same at all positions; a mean of n has an n-th of it.
  const at::Tensor of_texts =
      at::where(known, (squares_ / n - mean.square()) * n / (n - 1), 0.0).sum(1, true) / positions;
  const at::Tensor noise = at::where(known, of_texts / n, 0.0);
  const at::Tensor seen = apart.square().sum(1, true);
  const at::Tensor explained = noise.sum(1, true) * (positions - 1) / positions;
  const at::Tensor of_positions = ((seen - explained) / (positions - 1).clamp_min(1)).clamp_min(0);
  const at::Tensor kept = of_positions / (of_positions + noise).clamp_min(1e-300);
  return (apart * kept).to(at::kFloat);
}

}  // namespace roformer
