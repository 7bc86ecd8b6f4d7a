#include "analysis/distance_bins.h"

#include <algorithm>

namespace roformer {

std::vector<std::pair<std::int64_t, std::int64_t>> distance_ranges(std::int64_t length) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  const auto side = [&](std::int64_t sign) {
    for (std::int64_t first = 1, width = 1; first < length; first += width) {
      width = first > 2 ? first - 1 : 1;
      ranges.emplace_back(sign * first, sign * std::min(first + width - 1, length - 1));
    }
  };
  side(-1);
  std::reverse(ranges.begin(), ranges.end());
  ranges.emplace_back(0, 0);
  side(1);
  return ranges;
}

std::vector<DistanceBin> distance_bins(const AttentionMasses& masses) {
  const std::int64_t heads = masses.by_distance.size(0), centre = masses.length - 1;
  const at::Tensor by_distance = masses.by_distance.contiguous();
  const double* const mass = by_distance.const_data_ptr<double>();
  const double* const uniform = masses.uniform.const_data_ptr<double>();
  std::vector<DistanceBin> bins;
  std::int64_t range = 0;
  for (const auto& [first, last] : distance_ranges(masses.length)) {
    const at::Tensor errors = masses.range_error.select(1, range++);
    DistanceBin bin{
        .first = first, .last = last, .mass = std::vector<double>(static_cast<std::size_t>(heads))};
    for (std::int64_t h = 0; h < heads; ++h) {
      bin.standard_error.push_back(errors[h].item<double>());
    }
    for (std::int64_t d = std::min(first, last); d <= std::max(first, last); ++d) {
      bin.uniform += uniform[d + centre];
      for (std::int64_t h = 0; h < heads; ++h) {
        bin.mass[static_cast<std::size_t>(h)] += mass[h * (2 * centre + 1) + d + centre];
      }
    }
    if (bin.uniform > 0) bins.push_back(std::move(bin));
  }
  return bins;
}

}  // namespace roformer
