#include "explain/distance_bins.h"

#include <algorithm>

namespace roformer {

std::vector<DistanceBin> distance_bins(const AttentionMasses& masses) {
  const std::int64_t heads = masses.by_distance.size(0), centre = masses.length - 1;
  const at::Tensor by_distance = masses.by_distance.contiguous();
  const double* const mass = by_distance.const_data_ptr<double>();
  const double* const uniform = masses.uniform.const_data_ptr<double>();
  std::vector<DistanceBin> bins;
  const auto add = [&](std::int64_t first, std::int64_t last) {
    DistanceBin bin{
        .first = first, .last = last, .mass = std::vector<double>(static_cast<std::size_t>(heads))};
    for (std::int64_t d = std::min(first, last); d <= std::max(first, last); ++d) {
      bin.uniform += uniform[d + centre];
      for (std::int64_t h = 0; h < heads; ++h) {
        bin.mass[static_cast<std::size_t>(h)] += mass[h * (2 * centre + 1) + d + centre];
      }
    }
    if (bin.uniform > 0) bins.push_back(std::move(bin));
  };
  const auto side = [&](std::int64_t sign) {
    for (std::int64_t first = 1, width = 1; first <= centre; first += width) {
      width = first > 2 ? first - 1 : 1;
      add(sign * first, sign * std::min(first + width - 1, centre));
    }
  };
  side(-1);
  std::reverse(bins.begin(), bins.end());
  add(0, 0);
  side(1);
  return bins;
}

}  // namespace roformer
