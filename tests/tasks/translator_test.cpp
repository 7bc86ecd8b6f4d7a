// The search of a whole translator, of random weights: in a batch as alone, greedy as by hand,
// scored as found, for every scheme; samples that are their sentence's own; alignment by a known
// attention.
#include "tasks/translation/translator.h"
#include "tasks/translation/translation_search.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "base/error.h"
#include "catch.h"
#include "config/position_facts.h"
#include "tasks/translation/alignment.h"
#include "tasks/random_translator.h"

using namespace roformer;

namespace {

const std::vector<std::int64_t> kSentenceLengths = {5, 2, 9, 6, 3, 9};

// What the whole model would choose, one token after the other, without cache and batch.
std::vector<std::int64_t> greedy(const RandomTranslator& random,
                                 const std::vector<TokenId>& source) {
  const DecodingSettings& decoding = random.settings.decoding;
  std::vector<std::int64_t> text = {RandomTranslator::kBegin};
  while (std::ssize(text) < std::ssize(source) + decoding.longest_extra) {
    at::Tensor last = random.logits(source, text)[std::ssize(text) - 1];
    for (const std::int64_t id : random.tokens.excluded) last[id] = -1e9;
    const auto best = at::argmax(last).item<std::int64_t>();
    if (best == RandomTranslator::kEnd) break;
    text.push_back(best);
  }
  text.erase(text.begin());
  return text;
}

// Groups of one to three sentences, more of them than threads.
const std::vector<std::int64_t> kManyLengths = {2, 9, 3, 10, 4,  11, 5,  12, 6,  13, 7,  14,
                                                8, 2, 9, 3,  10, 4,  11, 5,  12, 6,  13, 7};
const std::vector<Override> kSmallGroups = {{"decoding.batch_tokens", "42"}};

using Found = std::vector<std::vector<Hypothesis>>;
Found on_threads(int threads, const RandomTranslator& random,
                 const std::vector<std::vector<TokenId>>& sources,
                 const TranslationOptions& options) {
  const int before = at::get_num_threads();
  at::set_num_threads(threads);
  Found found = random.translate(sources, options);
  at::set_num_threads(before);
  return found;
}

void check_same(const Found& found, const Found& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    REQUIRE(found[i].size() == expected[i].size());
    for (std::size_t k = 0; k < found[i].size(); ++k) {
      CHECK(found[i][k].ids == expected[i][k].ids);
      CHECK(found[i][k].score == expected[i][k].score);
    }
  }
}

}  // namespace

TEST_CASE("for every scheme: in a batch as alone, greedy as by hand, n-best scored as found") {
  const auto sources = RandomTranslator::sentences(kSentenceLengths);
  for (const PositionFacts& facts : position_facts()) {
    if (facts.causal_only) continue;
    DYNAMIC_SECTION(facts.name) {
      const RandomTranslator random{std::string(facts.name)};
      TranslationOptions options{.decoding = random.settings.decoding, .n_best = 3};
      const auto together = random.translate(sources, options);
      for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto alone = random.translate({sources[i]}, options);
        REQUIRE(together[i].size() == 3);
        REQUIRE(alone[0].size() == 3);
        TranslationOptions forced = options;
        forced.ends_with_prefix = true;
        forced.n_best = 1;
        for (std::size_t k = 0; k < 3; ++k) {
          const Hypothesis& text = together[i][k];
          CHECK(text.ids == alone[0][k].ids);
          CHECK(text.score == Approx(alone[0][k].score).margin(1e-4));
          const auto scored =
              roformer::translate({&random.translator}, {sources[i]}, random.tokens, forced,
                                  {std::vector<TokenId>(text.ids.begin(), text.ids.end())});
          CHECK(scored[0].at(0).ids == text.ids);
          CHECK(scored[0][0].log_probability == Approx(text.log_probability).margin(1e-4));
          CHECK(scored[0][0].score == Approx(text.score).margin(1e-4));
        }
      }
      options.decoding.beam = options.n_best = 1;
      const auto one = random.translate(sources, options);
      for (std::size_t i = 0; i < sources.size(); ++i) {
        CHECK(one[i].at(0).ids == greedy(random, sources[i]));
      }
    }
  }
}

TEST_CASE("for every scheme: threads that search for sentences of their own find the same ones") {
  const auto sources = RandomTranslator::sentences(kManyLengths);
  for (const PositionFacts& facts : position_facts()) {
    if (facts.causal_only) continue;
    DYNAMIC_SECTION(facts.name) {
      const RandomTranslator random{std::string(facts.name), kSmallGroups};
      const TranslationOptions options{.decoding = random.settings.decoding, .n_best = 2};
      check_same(on_threads(4, random, sources, options), on_threads(1, random, sources, options));
    }
  }
}

TEST_CASE("threads that search multiply by the caller's eight-bit weights") {
  const auto sources = RandomTranslator::sentences(kManyLengths);
  const RandomTranslator random("rope", kSmallGroups);
  const TranslationOptions options{.decoding = random.settings.decoding};
  const auto plain = on_threads(4, random, sources, options);
  InferenceWeights weights;
  random.translator.add_to(weights, WeightForm::int8);
  const InferenceWeights::Use use(&weights);
  const auto found = on_threads(4, random, sources, options);
  check_same(found, on_threads(1, random, sources, options));
  // Each sentence's score is another one: no thread went without.
  for (std::size_t i = 0; i < sources.size(); ++i) CHECK(found[i][0].score != plain[i][0].score);
}

TEST_CASE("prepared weights find what the weights themselves find") {
  const auto sources = RandomTranslator::sentences(kManyLengths);
  const RandomTranslator random("rope", kSmallGroups);
  const TranslationOptions options{.decoding = random.settings.decoding};
  const auto plain = on_threads(2, random, sources, options);
  InferenceWeights weights;
  random.translator.add_to(weights, WeightForm::fp32);
  CHECK((weights.size() > 0) == InferenceWeights::available(WeightForm::fp32));
  const InferenceWeights::Use use(&weights);
  const auto found = on_threads(2, random, sources, options);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    CHECK(found[i][0].ids == plain[i][0].ids);
    CHECK(found[i][0].score == Approx(plain[i][0].score).margin(1e-4));
  }
}

TEST_CASE("a translator multiplies by its prepared weights and by no others") {
  const Precision precision = GENERATE(Precision::fp32, Precision::bf16);
  if (!InferenceWeights::available(weight_form(precision))) return;
  const auto sources = RandomTranslator::sentences(kManyLengths);
  const RandomTranslator random("rope", kSmallGroups, {.precision = precision});
  const TranslationOptions options{.decoding = random.settings.decoding};
  InferenceWeights weights;
  random.translator.add_to(weights);
  const InferenceWeights::Use use(&weights);
  const auto found = on_threads(2, random, sources, options);
  const c10::AutoGradMode no_gradient(false);
  for (const Parameter& parameter : random.translator.parameters().all()) {
    at::Tensor value = parameter.value;
    if (parameter.spec.projects) value.zero_();
  }
  check_same(on_threads(2, random, sources, options), found);
  const InferenceWeights::Use none(nullptr);
  CHECK(on_threads(2, random, sources, options)[0][0].score != found[0][0].score);
}

TEST_CASE("a sample is its sentence's own: the batch around it changes nothing") {
  const auto sources = RandomTranslator::sentences(kSentenceLengths);
  const RandomTranslator random("rope");
  TranslationOptions options{.decoding = random.settings.decoding,
                             .n_best = 2,
                             .sampling = TranslationSampling{.choice = {.temperature = 0.7}}};
  options.sampling->numbers = {0, 1, 2, 3, 4, 5};
  const auto together = random.translate(sources, options);
  CHECK(together[0][0].ids != together[0][1].ids);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    TranslationOptions alone = options;
    alone.sampling->numbers = {i};
    const auto found = random.translate({sources[i]}, alone);
    for (std::size_t k = 0; k < 2; ++k) {
      CHECK(found[0][k].ids == together[i][k].ids);
      CHECK(found[0][k].score == Approx(together[i][k].score).margin(1e-4));
    }
  }
  // The same sentence elsewhere, and another seed, are other samples.
  TranslationOptions elsewhere = options;
  elsewhere.sampling->numbers = {6};
  CHECK(random.translate({sources[2]}, elsewhere)[0][0].ids != together[2][0].ids);
  options.sampling->seed = 2;
  CHECK(random.translate(sources, options)[2][0].ids != together[2][0].ids);
  // At temperature 0 the greedy text.
  options.sampling->choice.temperature = 0;
  const auto coldest = random.translate(sources, options);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    CHECK(coldest[i][0].ids == greedy(random, sources[i]));
  }
}

TEST_CASE("tokens are aligned by what they attended to") {
  // A translator whose decoder attends to the source token that is the same as the one before: all
  // that it does beside is turned off.
  RandomTranslator made("none", {{"model.layers", "1"}, {"model.norm", "pre"}});
  {
    const at::NoGradGuard no_gradient;
    for (const Parameter& parameter : made.translator.parameters().all()) {
      const std::string& name = parameter.spec.name;
      at::Tensor value = parameter.value.detach();
      const bool gain = name.ends_with("gain") || name.ends_with("norm.weight");
      if (name.find("embedding") != std::string::npos) continue;
      value.fill_(gain ? 1 : 0);
      if (name == "decoder.layers.0.cross_attention.query.weight") {
        value.copy_(5 * at::eye(32));
      } else if (name == "decoder.layers.0.cross_attention.key_value.weight") {
        value.narrow(0, 0, 32).copy_(at::eye(32));
      }
    }
  }
  const std::int64_t begin = RandomTranslator::kBegin, end = RandomTranslator::kEnd;
  const std::vector<AlignedPair> pairs = {
      {.source = {7, static_cast<TokenId>(begin), 9, 11, static_cast<TokenId>(end)},
       .target = {9, 11, 7, 11}},
      {.source = {8, 5, static_cast<TokenId>(begin), static_cast<TokenId>(end)},
       .target = {5, 8, 4}},
      {.source = {8, static_cast<TokenId>(end)}, .target = {}},
      {.source = {static_cast<TokenId>(end)}, .target = {6}}};
  const std::vector<Alignment> expected = {
      {{1, 0}, {2, 1}, {3, 2}, {0, 3}}, {{2, 0}, {1, 1}, {0, 2}}, {}, {}};
  const std::int64_t budget = GENERATE(1, 5, 100);
  CHECK(align({&made.translator}, pairs, made.tokens, 0, budget) == expected);
  CHECK(align({&made.translator, &made.translator}, pairs, made.tokens, 1, budget) == expected);
  CHECK_THROWS_WITH(align({&made.translator}, pairs, made.tokens, 2, budget),
                    Catch::Contains("the decoder has 1 layers"));
}
