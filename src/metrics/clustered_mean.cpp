#include "metrics/clustered_mean.h"

#include <cmath>
#include <limits>

#include "base/error.h"

namespace roformer {

ClusteredMean clustered_mean(std::span<const double> sums, std::span<const std::int64_t> counts) {
  ROFORMER_ASSERT(sums.size() == counts.size());
  double total = 0;
  std::int64_t values = 0;
  ClusteredMean result;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    total += sums[i];
    values += counts[i];
    result.clusters += counts[i] > 0 ? 1 : 0;
  }
  ROFORMER_ASSERT(values > 0);
  result.mean = total / static_cast<double>(values);
  double squares = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double residual = sums[i] - result.mean * static_cast<double>(counts[i]);
    squares += residual * residual;
  }
  const auto clusters = static_cast<double>(result.clusters);
  result.standard_error = result.clusters < 2 ? std::numeric_limits<double>::quiet_NaN()
                                              : std::sqrt(clusters / (clusters - 1) * squares) /
                                                    static_cast<double>(values);
  return result;
}

}  // namespace roformer
