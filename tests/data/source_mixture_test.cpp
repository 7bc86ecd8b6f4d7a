#include "data/batches.h"

#include <cmath>
#include <numeric>

#include "catch.h"

using namespace roformer;

namespace {

// Rows of each source among the first n, and that their numbers rise by one.
std::vector<std::int64_t> counts_of(const SourceMixture& mixture, std::size_t sources,
                                    std::int64_t n) {
  std::vector<std::int64_t> counts(sources);
  for (std::int64_t i = 0; i < n; ++i) {
    const SourceMixture::Entry entry = mixture[i];
    REQUIRE(entry.number == counts[entry.source]);
    ++counts[entry.source];
  }
  return counts;
}

}  // namespace

TEST_CASE("sources take turns in the proportion of their weights, at any moment") {
  const std::vector<double> weights{3, 1, 0.5};
  const SourceMixture mixture(weights);
  for (const std::int64_t n : {9, 90, 1000, 5000}) {
    const std::vector<std::int64_t> counts = counts_of(mixture, 3, n);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(std::abs(static_cast<double>(counts[i]) - weights[i] / 4.5 * static_cast<double>(n)) <
            2 + static_cast<double>(n) / SourceMixture::kPattern);
    }
  }
}

TEST_CASE("one source gives its rows in their order, a tiny one is not forgotten") {
  CHECK(counts_of(SourceMixture({7}), 1, 3000)[0] == 3000);
  const SourceMixture mixture({1e6, 1e-6, 1});
  CHECK(mixture.share(0) == 1022);
  CHECK(mixture.share(1) == 1);
  CHECK(counts_of(mixture, 3, SourceMixture::kPattern) == std::vector<std::int64_t>{1022, 1, 1});
  const SourceMixture even(std::vector<double>(3, 1.0));
  CHECK(even.share(0) + even.share(1) + even.share(2) == SourceMixture::kPattern);
}
