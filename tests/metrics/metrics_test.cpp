#include <cmath>
#include <limits>

#include "cases.h"
#include "catch.h"
#include "metrics/agreement.h"
#include "metrics/language.h"

using namespace roformer;
using nlohmann::json;

namespace {

using Labels = std::vector<std::int64_t>;

void check(const Score& score, const json& expected) {
  CHECK(score.degenerate == expected.is_null());
  const double value = expected.is_null() ? 0.0 : expected.get<double>();
  CHECK(std::abs(score.value - value) <= 1e-9);
}

}  // namespace

TEST_CASE("classification metrics equal scikit-learn's") {
  for (const json& one : cases().at("classification")) {
    INFO(one.at("name"));
    const Labels predictions = one.at("predictions");
    const Labels labels = one.at("labels");
    const LabelPairs pairs{.predictions = predictions, .labels = labels};
    check(accuracy(pairs), one.at("accuracy"));
    check(matthews(pairs), one.at("matthews"));
    if (one.contains("f1")) check(f1(pairs), one.at("f1"));
  }
}

TEST_CASE("correlations equal scipy's") {
  for (const json& one : cases().at("correlation")) {
    INFO(one.at("name"));
    const std::vector<double> predictions = one.at("predictions");
    const std::vector<double> targets = one.at("targets");
    const ScorePairs pairs{.predictions = predictions, .targets = targets};
    check(pearson(pairs), one.at("pearson"));
    check(spearman(pairs), one.at("spearman"));
    CHECK(average_ranks(predictions) == one.at("ranks").get<std::vector<double>>());
  }
}

TEST_CASE("a score that is not finite, or no example at all, is degenerate") {
  const std::vector<double> targets{1, 2, 3};
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const std::vector<double> predictions{1, bad, 2};
    CHECK(pearson({.predictions = predictions, .targets = targets}).degenerate);
    CHECK(spearman({.predictions = targets, .targets = predictions}).degenerate);
  }
  CHECK(accuracy({}).degenerate);
  CHECK(f1({}).degenerate);
  CHECK(matthews({}).degenerate);
  CHECK(pearson({}).degenerate);
}

TEST_CASE("F1 of another class, collapsed runs") {
  const Labels predictions{0, 0, 1, 1};
  const Labels labels{0, 1, 0, 1};
  CHECK(f1({.predictions = predictions, .labels = labels}, 0).value == 0.5);
  CHECK_FALSE(one_class_predicted(predictions));
  CHECK(one_class_predicted(Labels{2, 2, 2}));
}

TEST_CASE("losses in the units that people quote") {
  CHECK(perplexity(std::log(30522.0)) == Approx(30522.0));
  CHECK(std::isinf(perplexity(1000)));
  CHECK(bits_per_character(std::log(2.0) * 1000 * 1.5, 1000) == Approx(1.5));
}
