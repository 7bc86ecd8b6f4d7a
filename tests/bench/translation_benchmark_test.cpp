// Buckets of lengths that are always the same, and figures of a step on them.
#include "bench/random_training.h"

#include "bench/decoding_benchmark.h"
#include "catch.h"
#include "config/load.h"
#include "runs/tiny_translation.h"
#include "runs/train.h"
#include "runs/trained_model.h"
#include "tasks/translation/translator.h"

using namespace roformer;

TEST_CASE("buckets hold pairs of like lengths within the budget, from short to long") {
  const std::vector<LengthBucket> buckets = wmt_buckets(4096);
  REQUIRE(buckets.size() == 4);
  double before = 0;
  for (const LengthBucket& bucket : buckets) {
    std::int64_t source = 0, target = 0;
    for (const PairLength& pair : bucket) {
      source += pair.source;
      target += pair.target;
      CHECK((pair.source >= 4 && pair.source <= 120 && pair.target >= 4 && pair.target <= 130));
    }
    CHECK(source <= 4096);
    CHECK(target <= 4096);
    CHECK(std::max(source, target) > 3500);
    const double mean = static_cast<double>(source) / static_cast<double>(bucket.size());
    CHECK(mean > before);
    before = mean;
    // Sorted by the source: within a bucket it hardly varies.
    CHECK(bucket.back().source - bucket.front().source <= 12);
  }
  CHECK(wmt_buckets(4096)[1].front().target == buckets[1].front().target);
}

TEST_CASE("a translator's steps are measured with their arithmetic") {
  const Settings settings = default_settings({{"task", "translation"},
                                              {"model.layers", "1"},
                                              {"model.width", "16"},
                                              {"model.heads", "2"},
                                              {"model.feed_forward", "32"},
                                              {"model.vocabulary", "50"},
                                              {"training.batch_tokens", "200"}});
  const StepBenchmark result = benchmark_translator(settings, {}, {.measured = 1, .warmup = 0});
  CHECK(result.tokens > 100);
  CHECK(result.tokens <= 200);
  CHECK(result.examples > 1);
  CHECK(result.parameters ==
        50 * 16 + 2 * (4 * 16 * 16 + 2 * 16 * 32 + 4 * 16 + 48 + 64) + 4 * 16 * 16 + 4 * 16 + 32);
  CHECK(result.gflop > 0);
  CHECK(result.tokens_per_second > 0);
}

TEST_CASE("decoding is measured on a run, blank lines left out") {
  const TinyTranslation tiny(60);
  train_run(tiny.settings("run", {{"training.steps", "2"}, {"decoding.sentences", "1"}}),
            ExistingRun::refuse);
  std::vector<TrainedTranslator> runs;
  runs.push_back(open_run_of<Translator>(tiny.folder.path / "runs" / "run"));
  std::vector<std::string> texts;
  const DecodingBenchmark result =
      benchmark_decoding(TextTranslator(std::move(runs)), {"abc", "", "dab"}, 2, &texts);
  CHECK(result.sentences == 2);
  CHECK(result.target_tokens >= 2);
  CHECK(result.sentences_per_second > 0);
  REQUIRE(texts.size() == 3);
  CHECK(texts[1].empty());
}
