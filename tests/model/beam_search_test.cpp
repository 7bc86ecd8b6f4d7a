// The beam search over a toy model whose probabilities are a function of the text alone, so that
// every text can be listed and the best ones are known.
#include "model/beam_search.h"

#include <algorithm>
#include <map>
#include <vector>

#include "catch.h"
#include "model/toy_step_model.h"

namespace roformer {
namespace {

// All texts of at most `longest` tokens, the end counted, with their scores.
std::map<double, Text> all_texts(std::uint64_t seed, std::int64_t longest,
                                 const BeamSettings& settings) {
  std::map<double, Text> found;
  const auto extend = [&](const auto& self, const Text& text, double total) -> void {
    Text given = {kToyBegin};
    given.insert(given.end(), text.begin(), text.end());
    const auto logits = toy_logits(given, seed);
    const std::int64_t tokens = std::ssize(text) + 1;
    found[length_penalized(total + log_probability(logits, kToyEnd), tokens, settings)] = text;
    if (tokens == longest) return;
    for (std::int64_t id = 1; id < kToyVocabulary; ++id) {
      Text longer = text;
      longer.push_back(id);
      self(self, longer, total + log_probability(logits, id));
    }
  };
  extend(extend, {}, 0);
  return found;
}

std::vector<BeamSentence> sentences(std::size_t count, std::int64_t longest, Text prefix = {}) {
  return std::vector<BeamSentence>(
      count, {.begin = {kToyBegin}, .prefix = std::move(prefix), .longest = longest});
}

}  // namespace

TEST_CASE("a beam as wide as the number of texts finds the best of all texts") {
  constexpr std::int64_t kLongest = 5;
  for (const LengthPenalty kind : {LengthPenalty::wu, LengthPenalty::average}) {
    for (const double alpha : {0.0, 0.6, 1.0, 2.0}) {
      const BeamSettings settings{.beam = 81, .n_best = 5, .length_penalty = kind, .alpha = alpha};
      ToyModel model(6, 100);
      const auto found = beam_search(model, sentences(6, kLongest), {.end = kToyEnd}, settings);
      for (std::uint64_t i = 0; i < 6; ++i) {
        const auto all = all_texts(100 + i, kLongest, settings);
        auto expected = all.rbegin();
        REQUIRE(found[i].size() == 5);
        for (const Hypothesis& text : found[i]) {
          CHECK(text.score == Approx(expected->first).margin(1e-5));
          CHECK(text.ids == expected->second);
          CHECK(text.token_log_probabilities.size() == text.ids.size() + 1);
          double sum = 0;
          for (const double step : text.token_log_probabilities) sum += step;
          CHECK(sum == Approx(text.log_probability).margin(1e-9));
          ++expected;
        }
      }
    }
  }
}

TEST_CASE("a beam of one takes the most probable token each time") {
  ToyModel model(20, 300);
  const auto found = beam_search(model, sentences(20, 8), {.end = kToyEnd},
                                 {.beam = 1, .length_penalty = LengthPenalty::wu, .alpha = 0.6});
  for (std::uint64_t i = 0; i < 20; ++i) {
    Text text = {kToyBegin};
    while (std::ssize(text) < 8) {
      const auto logits = toy_logits(text, 300 + i);
      const std::int64_t best = std::ranges::max_element(logits) - logits.begin();
      if (best == kToyEnd) break;
      text.push_back(best);
    }
    text.erase(text.begin());
    REQUIRE(found[i].size() == 1);
    CHECK(found[i][0].ids == text);
  }
}

TEST_CASE("a sentence's hypotheses do not depend on its neighbours") {
  const BeamSettings settings{.beam = 3, .n_best = 2};
  ToyModel together(5, 500);
  const auto found = beam_search(together, sentences(5, 10), {.end = kToyEnd}, settings);
  CHECK(together.most_rows <= 15);
  for (std::uint64_t i = 0; i < 5; ++i) {
    ToyModel alone(1, 500 + i);
    const auto one = beam_search(alone, sentences(1, 10), {.end = kToyEnd}, settings);
    REQUIRE(one[0].size() == found[i].size());
    for (std::size_t k = 0; k < one[0].size(); ++k) {
      CHECK(one[0][k].ids == found[i][k].ids);
      CHECK(one[0][k].score == found[i][k].score);
    }
  }
}

TEST_CASE("a forced beginning begins every hypothesis, and its probability counts") {
  const BeamSettings settings{.beam = 4, .n_best = 3};
  ToyModel model(3, 700);
  const auto found = beam_search(model, sentences(3, 8, {2, 1}), {.end = kToyEnd}, settings);
  for (std::uint64_t i = 0; i < 3; ++i) {
    REQUIRE(found[i].size() == 3);
    for (const Hypothesis& text : found[i]) {
      REQUIRE(text.ids.size() >= 2);
      CHECK(text.ids[0] == 2);
      CHECK(text.ids[1] == 1);
      CHECK(text.token_log_probabilities[0] ==
            Approx(log_probability(toy_logits({kToyBegin}, 700 + i), 2)).margin(1e-5));
    }
  }
}

TEST_CASE("other stopping rules end sooner, at worse scores") {
  std::map<StoppingRule, std::int64_t> steps;
  std::map<StoppingRule, double> sums;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::map<StoppingRule, double> scores;
    for (const StoppingRule rule :
         {StoppingRule::exact, StoppingRule::estimate, StoppingRule::full}) {
      ToyModel model(1, 900 + seed);
      const auto found = beam_search(
          model, sentences(1, 20), {.end = kToyEnd},
          {.beam = 3, .length_penalty = LengthPenalty::average, .alpha = 1, .stopping = rule});
      REQUIRE(found[0].size() == 1);
      scores[rule] = found[0][0].score;
      steps[rule] += model.steps;
      sums[rule] += found[0][0].score;
      CHECK(scores[rule] <= scores[StoppingRule::exact]);
    }
  }
  CHECK(steps[StoppingRule::full] < steps[StoppingRule::estimate]);
  CHECK(steps[StoppingRule::estimate] < steps[StoppingRule::exact]);
  CHECK(sums[StoppingRule::full] < sums[StoppingRule::exact]);
}

TEST_CASE("what is excluded takes a share of the probability unless told otherwise") {
  for (const bool renormalize : {false, true}) {
    ToyModel model(1, 77);
    const auto found =
        beam_search(model, sentences(1, 1),
                    {.end = kToyEnd, .excluded = {1}, .renormalize = renormalize}, {.beam = 1});
    std::vector<float> logits = toy_logits({kToyBegin}, 77);
    if (renormalize) logits.erase(logits.begin() + 1);
    CHECK(found[0].at(0).log_probability == Approx(log_probability(logits, kToyEnd)).margin(1e-5));
  }
}

TEST_CASE("a beginning that is given may hold what is excluded, at its probability") {
  ToyModel model(1, 700);
  const auto found = beam_search(model, sentences(1, 8, {2, 1}), {.end = kToyEnd, .excluded = {2}},
                                 {.beam = 2, .n_best = 2});
  REQUIRE(found[0].size() == 2);
  for (const Hypothesis& text : found[0]) {
    REQUIRE(text.ids.size() >= 2);
    CHECK(text.ids[0] == 2);
    CHECK(text.token_log_probabilities[0] ==
          Approx(log_probability(toy_logits({kToyBegin}, 700), 2)).margin(1e-5));
    CHECK(std::count(text.ids.begin() + 1, text.ids.end(), 2) == 0);
  }
  CHECK(found[0][0].log_probability > found[0][1].log_probability);
}

TEST_CASE("excluded ids never appear, and no text is longer than allowed") {
  ToyModel model(10, 900);
  const auto found = beam_search(model, sentences(10, 3), {.end = kToyEnd, .excluded = {2}},
                                 {.beam = 4, .n_best = 4});
  for (const auto& texts : found) {
    REQUIRE_FALSE(texts.empty());
    for (const Hypothesis& text : texts) {
      CHECK(text.ids.size() <= 2);
      CHECK(std::ranges::find(text.ids, 2) == text.ids.end());
    }
  }
}

}  // namespace roformer
