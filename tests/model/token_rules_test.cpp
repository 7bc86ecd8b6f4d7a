// The rules of transformers' generate(), number by number, and what they make of a search.
#include "model/sampling.h"

#include <cmath>
#include <limits>
#include <vector>

#include "catch.h"
#include "model/beam_search.h"
#include "model/generate.h"
#include "model/toy_step_model.h"

namespace roformer {
namespace {

using Scores = std::vector<float>;

Scores changed(const TokenRules& rules, const std::vector<std::int64_t>& text, Scores scores) {
  apply_rules(rules, text, scores);
  return scores;
}

constexpr float kBanned = -std::numeric_limits<float>::infinity();

std::vector<BeamSentence> toy_sentences(std::size_t count, std::int64_t longest,
                                        std::vector<std::int64_t> prefix = {}) {
  return std::vector<BeamSentence>(
      count, {.begin = {kToyBegin}, .prefix = std::move(prefix), .longest = longest});
}

}  // namespace

TEST_CASE("a penalty makes what the text holds less likely, once, by the sign of its score") {
  const Scores scores = {-1, 2, -3, 4, 0};
  CHECK(changed({.repetition_penalty = 2}, {1, 2, 1, 77, -1}, scores) == Scores{-1, 1, -6, 4, 0});
  CHECK(changed({.repetition_penalty = 0.5}, {1, 2}, scores) == Scores{-1, 4, -1.5, 4, 0});
  CHECK(changed({}, {1, 2}, scores) == scores);
}

TEST_CASE("what would repeat a row of tokens is banned") {
  const Scores scores = {0, 1, 2, 3, 4};
  CHECK(changed({.no_repeat_ngram = 1}, {3, 1, 9}, scores) == Scores{0, kBanned, 2, kBanned, 4});
  CHECK(changed({.no_repeat_ngram = 2}, {1, 2, 1, 3, 1}, scores) ==
        Scores{0, 1, kBanned, kBanned, 4});
  CHECK(changed({.no_repeat_ngram = 3}, {1, 2, 4, 1, 2}, scores) == Scores{0, 1, 2, 3, kBanned});
  CHECK(changed({.no_repeat_ngram = 3}, {1, 2}, scores) == scores);
  CHECK(changed({.no_repeat_ngram = 9}, {1, 1, 1}, scores) == scores);
}

TEST_CASE("an end that a limit forces costs what the model says, or nothing") {
  constexpr std::int64_t kLongest = 4;
  std::int64_t cut = 0;
  for (const std::int64_t beam : {1, 3}) {
    ToyModel model(20, 900), again(20, 900);
    const BeamSettings settings{.beam = beam, .length_penalty = LengthPenalty::average, .alpha = 1};
    const auto counted =
        beam_search(model, toy_sentences(20, kLongest), {.end = kToyEnd}, settings);
    const auto free = beam_search(again, toy_sentences(20, kLongest),
                                  {.end = kToyEnd, .free_end = true}, settings);
    for (std::uint64_t i = 0; i < 20; ++i) {
      const Hypothesis& text = free[i].at(0);
      const bool at_the_limit = text.token_log_probabilities.size() == kLongest;
      CHECK((text.token_log_probabilities.back() == 0) == at_the_limit);
      CHECK(text.score == Approx(text.log_probability /
                                 static_cast<double>(text.token_log_probabilities.size())));
      CHECK(counted[i].at(0).token_log_probabilities.back() < 0);
      cut += at_the_limit ? 1 : 0;
    }
  }
  CHECK(cut > 5);
}

TEST_CASE("ids that no piece has are never chosen and keep their share of the probability") {
  const std::int64_t pieces = kToyVocabulary - 2;
  const auto share = [](const Hypothesis& text, std::uint64_t seed) {
    return log_probability(toy_logits({kToyBegin}, seed), text.ids.at(0));
  };
  for (const std::int64_t beam : {1, 3}) {
    ToyModel model(6, 40);
    const auto found =
        beam_search(model, toy_sentences(6, 8), {.end = kToyEnd, .size = pieces}, {.beam = beam});
    for (std::size_t i = 0; i < found.size(); ++i) {
      const Hypothesis& text = found[i].at(0);
      CHECK(std::ranges::all_of(text.ids, [&](std::int64_t id) { return id < pieces; }));
      if (text.ids.empty()) continue;
      CHECK(text.token_log_probabilities.at(0) == Approx(share(text, 40 + i)).margin(1e-5));
    }
  }
  ToyModel drawn(1, 40);
  const SampledBeginning beginning{.text = toy_sentences(1, 8)[0], .keys = {1, 2, 3, 4}};
  const auto samples = sample_texts(drawn, {beginning}, {.end = kToyEnd, .size = pieces}, {});
  for (const Hypothesis& text : samples[0]) {
    CHECK(std::ranges::all_of(text.ids, [&](std::int64_t id) { return id < pieces; }));
    if (text.ids.empty()) continue;
    CHECK(text.token_log_probabilities.at(0) == Approx(share(text, 40)).margin(1e-5));
  }
}

TEST_CASE("a first token is forced at no cost, but not before a prefix") {
  const BeamSettings settings{.beam = 3, .n_best = 2};
  const BeamVocabulary vocabulary{.end = kToyEnd, .first = 2};
  ToyModel model(4, 40), given(4, 40);
  for (const auto& texts : beam_search(model, toy_sentences(4, 8), vocabulary, settings)) {
    for (const Hypothesis& text : texts) {
      CHECK(text.ids.at(0) == 2);
      CHECK(text.token_log_probabilities.at(0) == 0);
    }
  }
  for (const auto& texts : beam_search(given, toy_sentences(4, 8, {1}), vocabulary, settings)) {
    CHECK(texts.at(0).ids.at(0) == 1);
    CHECK(texts.at(0).token_log_probabilities.at(0) < 0);
  }
  ToyModel drawn(1, 40);
  const SampledBeginning beginning{.text = toy_sentences(1, 8)[0], .keys = {1, 2, 3}};
  const auto samples = sample_texts(drawn, {beginning}, vocabulary, {});
  for (const Hypothesis& text : samples[0]) {
    CHECK(text.ids.at(0) == 2);
  }
}

TEST_CASE("a text keeps to the rules from its first free token on, searched for or drawn") {
  const BeamVocabulary vocabulary{.end = kToyEnd, .rules = {.no_repeat_ngram = 1}};
  const auto holds_once = [](const Hypothesis& text, std::size_t from) {
    for (std::size_t i = from; i < text.ids.size(); ++i) {
      if (std::count(text.ids.begin(), text.ids.end(), text.ids[i]) > 1) return false;
    }
    return true;
  };
  for (const std::int64_t beam : {1, 4}) {
    ToyModel model(20, 70), given(20, 70);
    for (const auto& texts : beam_search(model, toy_sentences(20, 9), vocabulary, {.beam = beam})) {
      CHECK(holds_once(texts.at(0), 0));
      CHECK(std::isfinite(texts.at(0).score));
    }
    // A prefix may repeat itself, and has the probability that the model gives it.
    for (const auto& texts :
         beam_search(given, toy_sentences(20, 9, {1, 1}), vocabulary, {.beam = beam})) {
      CHECK(texts.at(0).ids.at(1) == 1);
      CHECK(std::isfinite(texts.at(0).score));
      CHECK(holds_once(texts.at(0), 2));
    }
  }
  ToyModel drawn(1, 70);
  const SampledBeginning beginning{.text = toy_sentences(1, 9)[0], .keys = {1, 2, 3, 4, 5}};
  const auto samples = sample_texts(drawn, {beginning}, vocabulary, {});
  for (const Hypothesis& text : samples[0]) {
    CHECK(holds_once(text, 0));
  }
}

}  // namespace roformer
