#include "metrics/numpy_array.h"

#include <algorithm>
#include <array>
#include <span>

namespace roformer {
namespace {

constexpr std::size_t kBlock = 128;
constexpr std::size_t kLanes = 8;

// numpy/_core/src/umath/loops_utils.h: pairwise_sum
template <typename Number>
Number pairwise_sum(std::span<const Number> values) {
  if (values.size() < kLanes) {
    Number sum = -0.;
    for (const Number value : values) sum += value;
    return sum;
  }
  if (values.size() <= kBlock) {
    std::array<Number, kLanes> sums;
    std::copy_n(values.begin(), kLanes, sums.begin());
    std::size_t i = kLanes;
    for (; i + kLanes <= values.size(); i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += values[i + lane];
    }
    Number sum =
        ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
    for (; i < values.size(); ++i) sum += values[i];
    return sum;
  }
  std::size_t half = values.size() / 2;
  half -= half % kLanes;
  return pairwise_sum(values.first(half)) + pairwise_sum(values.subspan(half));
}

template <typename Number>
Number mean_of(const std::vector<NumpyFloat>& array) {
  std::vector<Number> values;
  values.reserve(array.size());
  for (const NumpyFloat& element : array) values.push_back(static_cast<Number>(element.value));
  return pairwise_sum(std::span<const Number>(values)) / static_cast<Number>(values.size());
}

}  // namespace

std::vector<NumpyFloat> numpy_array(std::vector<NumpyFloat> scores) {
  const bool single = std::ranges::all_of(scores, &NumpyFloat::single);
  for (NumpyFloat& score : scores) score.single = single;
  return scores;
}

NumpyFloat numpy_mean(const std::vector<NumpyFloat>& array) {
  if (array.front().single) return {mean_of<float>(array), true};
  return mean_of<double>(array);
}

}  // namespace roformer
