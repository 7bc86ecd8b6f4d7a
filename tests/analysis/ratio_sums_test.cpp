// Ratios that are added up text by text, against the estimator that sees all texts at once.
#include "analysis/text_sums.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <vector>

#include "analysis/attention_record.h"
#include "base/random.h"
#include "catch.h"
#include "metrics/clustered_mean.h"

using namespace roformer;

TEST_CASE("a ratio and its error are those of a clustered mean") {
  Random random(7);
  std::vector<double> sums;
  std::vector<std::int64_t> counts;
  RatioSums added;
  for (int block = 0; block < 5; ++block) {
    std::vector<double> values, weights;
    for (int text = 0; text < 1 + block; ++text) {
      counts.push_back(static_cast<std::int64_t>(random.below(4)));  // 0: a text that says nothing
      sums.push_back(static_cast<double>(counts.back()) * (1 + random.normal()));
      values.push_back(sums.back());
      weights.push_back(static_cast<double>(counts.back()));
    }
    added.add(at::tensor(values, at::kDouble), at::tensor(weights, at::kDouble));
  }
  const ClusteredMean wanted = clustered_mean(sums, counts);
  CHECK(added.ratio().item<double>() == Approx(wanted.mean));
  CHECK(added.standard_error().item<double>() == Approx(wanted.standard_error));
  CHECK(wanted.standard_error > 0.05);
}

TEST_CASE("what no text has is 0, and what one text has is without error") {
  RatioSums sums;
  CHECK(sums.empty());
  // Two texts of three quantities: of none, of one and of both of them.
  sums.add(at::tensor({0.0, 3.0, 1.0, 0.0, 0.0, 2.0}, at::kDouble).view({2, 3}),
           at::tensor({0.0, 4.0, 2.0, 0.0, 0.0, 2.0}, at::kDouble).view({2, 3}));
  const at::Tensor ratio = sums.ratio(), error = sums.standard_error();
  CHECK(ratio[0].item<double>() == 0);
  CHECK(ratio[1].item<double>() == Approx(0.75));
  CHECK(ratio[2].item<double>() == Approx(0.75));
  CHECK(std::isnan(error[0].item<double>()));
  CHECK(std::isnan(error[1].item<double>()));
  CHECK(error[2].item<double>() == Approx(0.25));  // 0.5 and 1, equally heavy
}

TEST_CASE("ranges of distances are every distance once, in order") {
  for (const std::int64_t length : {1, 2, 3, 9, 32}) {
    std::int64_t next = 1 - length;
    for (const auto& [first, last] : distance_ranges(length)) {
      CHECK(std::min(first, last) == next);
      next = std::max(first, last) + 1;
    }
    CHECK(next == length);
  }
}
