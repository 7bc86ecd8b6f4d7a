// The figures of matching against values worked out by hand.
#include "catch.h"
#include "tasks/matching/matching_task.h"

using namespace roformer;

namespace {

MatchingSet triplets(std::size_t count) {
  MatchingSet set;
  set.source.examples.resize(count);
  set.texts.resize(2 * count);
  return set;
}

}  // namespace

TEST_CASE(
    "a triplet is right where its closer text scores higher, and not where both score alike") {
  const MatchingSet set = triplets(3);
  const std::vector<double> scores = {1, 0, 0.5, 0.5, -1, 2};
  CHECK(right_answers(set, scores) == std::vector<bool>{true, false, false});
  auto figures = matching_figures({.loss = MatchingLoss::pairs}, set, scores);
  CHECK(figures["accuracy"] == Approx(1 / 3.0));
  CHECK(figures["collapsed"] == 0);
  // -log of the logistic function of each closer score and of minus each farther one.
  CHECK(figures["loss"] == Approx(0.9824587558));
  figures = matching_figures({.loss = MatchingLoss::triplet, .margin = 0.5}, set, scores);
  CHECK(figures["loss"] == Approx((0 + 0.5 + 3.5) / 3));
}

TEST_CASE("a pair is right where the sign of its score says whether it matches") {
  MatchingSet set;
  set.source.triplets = false;
  set.source.examples = {{.matches = true}, {.matches = false}, {.matches = true}};
  set.texts.resize(3);
  const std::vector<double> scores = {0.25, 0, -1};
  CHECK(right_answers(set, scores) == std::vector<bool>{true, true, false});
  auto figures = matching_figures({}, set, scores);
  CHECK(figures["accuracy"] == Approx(2 / 3.0));
  CHECK(figures["loss"] == Approx(0.8607827627));
}

TEST_CASE("scores that are all the same are said to have collapsed") {
  CHECK(matching_figures({}, triplets(2), {3, 3, 3, 3})["collapsed"] == 1);
  CHECK(matching_figures({}, triplets(2), {3, 3, 3, 2})["collapsed"] == 0);
}
