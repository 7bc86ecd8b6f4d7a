#include "metrics/statistics.h"

#include "cases.h"
#include "catch.h"

using namespace roformer;
using nlohmann::json;

TEST_CASE("summaries, intervals and paired tests equal numpy's and scipy's") {
  for (const json& one : cases().at("comparisons")) {
    INFO(one.at("name"));
    const std::vector<double> first = one.at("first");
    const std::vector<double> second = one.at("second");
    const auto expected = [&](const char* key) {
      return Approx(one.at(key).get<double>()).epsilon(1e-9).margin(1e-12);
    };
    CHECK(mean(first) == expected("mean"));
    CHECK(median(first) == expected("median"));
    CHECK(sample_standard_deviation(first) == expected("deviation"));
    const double confidence = one.at("confidence");
    const Interval interval = student_interval(first, confidence);
    CHECK(interval.low == expected("low"));
    CHECK(interval.high == expected("high"));
    const PairedComparison comparison = compare_paired(first, second, confidence);
    CHECK(comparison.interval.low == expected("paired_low"));
    CHECK(comparison.interval.high == expected("paired_high"));
    CHECK(comparison.p_value == expected("p_value"));
    CHECK_FALSE(comparison.degenerate);
  }
}

TEST_CASE("differences that are equal but for their last bits are no test") {
  const std::vector<double> first = {97.0 / 277, 117.0 / 277}, second = {100.0 / 277, 120.0 / 277};
  REQUIRE(first[0] - second[0] != first[1] - second[1]);
  CHECK(compare_paired(first, second, 0.95).degenerate);
  const std::vector<double> other = {100.0 / 277, 121.0 / 277};
  CHECK_FALSE(compare_paired(first, other, 0.95).degenerate);
}

TEST_CASE("Holm's correction equals statsmodels'") {
  const json fixture = json::parse(read_file(FIXTURES "/holm_cases.json"));
  for (const json& one : fixture.at("cases")) {
    const std::vector<double> p_values = one.at("p_values");
    const std::vector<double> expected = one.at("adjusted");
    const std::vector<double> adjusted = holm_adjusted(p_values);
    REQUIRE(adjusted.size() == expected.size());
    for (std::size_t i = 0; i < adjusted.size(); ++i) {
      CHECK(adjusted[i] == Approx(expected[i]).epsilon(1e-12).margin(1e-15));
    }
  }
  CHECK(holm_adjusted({}).empty());
}

TEST_CASE("quantiles of Student's t equal scipy's") {
  for (const json& one : cases().at("quantiles")) {
    const double degrees = one.at("degrees");
    const double probability = one.at("probability");
    INFO(probability << " with " << degrees << " degrees of freedom");
    CHECK(student_quantile(probability, degrees) ==
          Approx(one.at("value").get<double>()).epsilon(1e-9).margin(1e-12));
  }
}

TEST_CASE("one run has a mean and no spread") {
  const std::vector<double> one{3.5};
  CHECK(sample_standard_deviation(one) == 0);
  CHECK(student_interval(one).degenerate);
  CHECK(student_interval(one).low == 3.5);
  CHECK(compare_paired(one, one).degenerate);
  const std::vector<double> first{1, 2, 3};
  const std::vector<double> second{2, 3, 4};
  CHECK(compare_paired(first, second).p_value == 1);  // equal differences: no test
}
