// Sampling over a toy model whose probabilities are known.
#include "model/generate.h"

#include <cmath>

#include "catch.h"
#include "model/toy_step_model.h"

namespace roformer {
namespace {

std::vector<SampledBeginning> beginnings(std::size_t count, std::int64_t longest,
                                         std::vector<std::uint64_t> keys = {1}, Text prefix = {}) {
  std::vector<SampledBeginning> result(count);
  for (std::size_t i = 0; i < count; ++i) {
    result[i].text = {.begin = {kToyBegin}, .prefix = prefix, .longest = longest};
    for (const std::uint64_t key : keys) result[i].keys.push_back(random_key({i, key}));
  }
  return result;
}

}  // namespace

TEST_CASE("tokens are drawn as often as they are probable, and by the model's own probabilities") {
  constexpr std::size_t kSamples = 20'000;
  std::vector<std::uint64_t> keys(kSamples);
  for (std::size_t i = 0; i < kSamples; ++i) keys[i] = i;
  const double temperature = GENERATE(1.0, 0.5);
  ToyModel model(1, 40);
  const auto texts = sample_texts(model, beginnings(1, 2, keys), {.end = kToyEnd},
                                  {.choice = {.temperature = temperature}})[0];
  const std::vector<float> logits = toy_logits({kToyBegin}, 40);
  std::vector<double> counts(kToyVocabulary), wanted(kToyVocabulary);
  double sum = 0;
  for (std::size_t id = 0; id < wanted.size(); ++id) {
    sum += wanted[id] = std::exp(logits[id] / temperature);
  }
  for (const Hypothesis& text : texts) {
    const std::int64_t first = text.ids.empty() ? kToyEnd : text.ids[0];
    counts[static_cast<std::size_t>(first)] += 1.0 / kSamples;
    CHECK(text.token_log_probabilities[0] == Approx(log_probability(logits, first)).margin(1e-5));
    CHECK(text.token_log_probabilities.size() == text.ids.size() + 1);
  }
  // Five standard deviations of a share of 20,000.
  for (std::size_t id = 0; id < wanted.size(); ++id) {
    const double share = wanted[id] / sum;
    CHECK(counts[id] == Approx(share).margin(5 * std::sqrt(share * (1 - share) / kSamples)));
  }
}

TEST_CASE("a sample does not depend on the rows beside it") {
  ToyModel together(5, 500);
  const auto found = sample_texts(together, beginnings(5, 10, {1, 2}), {.end = kToyEnd}, {});
  for (std::uint64_t i = 0; i < 5; ++i) {
    ToyModel alone(1, 500 + i);
    SampledBeginning one{.text = {.begin = {kToyBegin}, .longest = 10},
                         .keys = {random_key({i, 2})}};
    const auto text = sample_texts(alone, {one}, {.end = kToyEnd}, {})[0][0];
    CHECK(text.ids == found[i][1].ids);
    CHECK(text.log_probability == found[i][1].log_probability);
  }
}

TEST_CASE("samples begin as they must, end in time, and never contain what is excluded") {
  ToyModel model(10, 900);
  const auto found = sample_texts(model, beginnings(10, 4, {1, 2, 3}, {2, 1}),
                                  {.end = kToyEnd, .excluded = {2}}, {});
  for (const auto& texts : found) {
    REQUIRE(texts.size() == 3);
    for (const Hypothesis& text : texts) {
      REQUIRE(text.ids.size() >= 2);
      CHECK(text.ids.size() <= 3);
      CHECK(text.ids[0] == 2);
      CHECK(text.ids[1] == 1);
      if (text.ids.size() == 3) CHECK(text.ids[2] != 2);
    }
  }
}
}  // namespace roformer
