// The mean of values that come in clusters (the targets of a row of text), and how far it may be
// from that of all the text that the rows were drawn from. The values of one cluster are alike, so
// that as many values of few clusters say less than their number.
#pragma once

#include <cstdint>
#include <span>

namespace roformer {

struct ClusteredMean {
  double mean = 0;
  // Of the mean, by the clusters (the linearised ratio estimator of Cochran 1977, section 9A.5,
  // without the correction for a finite population). NaN for fewer than two clusters with values.
  double standard_error = 0;
  std::int64_t clusters = 0;  // with values
};

// `sums` and `counts` of the values of each cluster, [clusters]; at least one value in all.
ClusteredMean clustered_mean(std::span<const double> sums, std::span<const std::int64_t> counts);

}  // namespace roformer
