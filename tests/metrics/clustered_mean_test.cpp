
#include <cmath>
#include <vector>

#include "base/random.h"
#include "catch.h"
#include "metrics/statistics.h"

using namespace roformer;

TEST_CASE("clusters of one value are a plain sample") {
  const std::vector<double> values{1, 4, 2, 8, 5};
  const ClusteredMean found = clustered_mean(values, std::vector<std::int64_t>{1, 1, 1, 1, 1});
  CHECK(found.mean == 4);
  CHECK(found.standard_error == Approx(sample_standard_deviation(values) / std::sqrt(5.0)));
  CHECK(found.clusters == 5);
}

TEST_CASE("clusters of different size weigh by their values") {
  // By hand: residuals -0.25, 1.5 and -1.25, sqrt(3 / 2 * 3.875) / 4. An empty cluster is none.
  const ClusteredMean found =
      clustered_mean(std::vector<double>{2, 6, 0, 1}, std::vector<std::int64_t>{1, 2, 0, 1});
  CHECK(found.mean == 2.25);
  CHECK(found.standard_error == Approx(0.602728));
  CHECK(found.clusters == 3);
  CHECK(std::isnan(
      clustered_mean(std::vector<double>{3}, std::vector<std::int64_t>{2}).standard_error));
}

TEST_CASE("the error is that of repeated draws, though the values of a cluster are alike") {
  Random random(5);
  std::vector<double> means, errors;
  for (int draw = 0; draw < 400; ++draw) {
    std::vector<double> sums;
    std::vector<std::int64_t> counts;
    for (int cluster = 0; cluster < 60; ++cluster) {
      const double level = random.normal();
      double sum = 0;
      const auto count = static_cast<std::int64_t>(10 + 20 * random.uniform());
      for (std::int64_t i = 0; i < count; ++i) sum += level + random.normal();
      sums.push_back(sum);
      counts.push_back(count);
    }
    const ClusteredMean found = clustered_mean(sums, counts);
    means.push_back(found.mean);
    errors.push_back(found.standard_error);
  }
  // That of independent values would be a quarter of it.
  CHECK(mean(errors) == Approx(sample_standard_deviation(means)).epsilon(0.1));
}
