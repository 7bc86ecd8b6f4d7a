#include "bench/classifier_benchmark.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "bench/model_products.h"
#include "tasks/classification/glue_task.h"

namespace roformer {
namespace {

constexpr std::int64_t kPredictedBatches = 16;  // a file of 512 sentences where a batch has 32

// Of the matrix products of a forward pass: multiply-adds times two. Behind the last attention and
// in the head only the first tokens are computed.
double forward_gflop(const Settings& settings, const std::vector<std::int64_t>& lengths) {
  const LayerProducts layer = layer_products(settings.model);
  const auto width = static_cast<double>(settings.model.width);
  const auto layers = static_cast<double>(settings.model.layers);
  const auto examples = static_cast<double>(lengths.size());
  double tokens = 0, pairs = 0;  // pairs: of all layers
  for (const std::int64_t length : lengths) {
    const auto count = static_cast<double>(length);
    tokens += count;
    pairs += count * keys_of_layers(settings, settings.model.layers, count, /*causal=*/false);
  }
  const double stack = layers * tokens * layer.projections +
                       ((layers - 1) * tokens + examples) * layer.behind + pairs * layer.of_pair;
  return 2 * (stack + examples * width * width) * 1e-9;
}

std::vector<EncodedText> random_texts(const std::vector<std::int64_t>& lengths,
                                      std::int64_t vocabulary, std::uint64_t key) {
  Random random(key);
  std::vector<EncodedText> texts;
  for (const std::int64_t length : lengths) {
    EncodedText text{.second = length};
    for (std::int64_t i = 0; i < length; ++i) {
      text.ids.push_back(
          static_cast<TokenId>(5 + random.below(static_cast<std::uint64_t>(vocabulary - 5))));
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

TextBatch batch_of(const std::vector<EncodedText>& texts) {
  TextBatch batch;
  for (const EncodedText& text : texts) append(text, batch);
  return batch;
}

StepWork work_of(const ParameterStore& parameters, const std::vector<std::int64_t>& lengths,
                 double gflop) {
  return {.parameters = parameters.count(),
          .tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}),
          .examples = std::ssize(lengths),
          .gflop = gflop};
}

struct SentenceBatch : TrainingBatch {
  TextBatch texts;
};

// Fine-tuning on sentences of random tokens, all of one label.
class RandomSentences : public TrainingObjective {
 public:
  RandomSentences(const Settings& settings, const ComputePlan& plan,
                  std::vector<std::int64_t> lengths)
      : settings_(settings),
        lengths_(std::move(lengths)),
        model_(settings, settings.model.vocabulary, glue_shape(settings.glue), plan),
        examples_(lengths_.size(), &example_) {}

  ParameterStore& parameters() override { return model_.parameters(); }

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    auto result = std::make_unique<SentenceBatch>();
    result->texts =
        batch_of(random_texts(lengths_, settings_.model.vocabulary,
                              random_key({settings_.seed, static_cast<std::uint64_t>(number)})));
    result->target_count = std::ssize(lengths_);
    result->tokens = std::ssize(result->texts.ids);
    return result;
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const TextBatch& texts = static_cast<const SentenceBatch&>(batch).texts;
    return glue_loss_sum(settings_.glue.task, model_.forward(texts, mode), examples_);
  }

 private:
  Settings settings_;
  std::vector<std::int64_t> lengths_;
  Classifier model_;
  GlueExample example_{.label = 1};
  std::vector<const GlueExample*> examples_;  // one of each sentence
};

}  // namespace

std::vector<std::int64_t> sst2_lengths(std::int64_t sentences) {
  constexpr std::array<std::int64_t, 32> kLengths = {3,  4,  4,  5,  5,  5,  6,  6,  6,  7,  7,
                                                     8,  8,  9,  9,  10, 11, 11, 12, 13, 14, 15,
                                                     16, 17, 18, 20, 22, 24, 26, 29, 34, 42};
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < sentences; ++i) {
    lengths.push_back(kLengths[static_cast<std::size_t>(i % std::ssize(kLengths))]);
  }
  std::sort(lengths.begin(), lengths.end());
  return lengths;
}

StepBenchmark benchmark_classifier(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds) {
  const std::vector<std::int64_t> lengths = sst2_lengths(settings.training.batch);
  TimedTraining training(std::make_unique<RandomSentences>(settings, plan, lengths), settings);
  const RoundTimes times =
      time_rounds(rounds, 1, [&](std::int64_t number) { return training.step(number); });
  return step_benchmark(
      times, work_of(training.parameters(), lengths, 3 * forward_gflop(settings, lengths)), plan);
}

StepBenchmark benchmark_prediction(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds) {
  const std::int64_t vocabulary = settings.model.vocabulary;
  Classifier model(settings, vocabulary, glue_shape(settings.glue), plan);
  const std::vector<std::int64_t> lengths =
      sst2_lengths(kPredictedBatches * settings.training.batch);
  const RoundTimes times = time_rounds(rounds, 1, [&](std::int64_t number) -> StepTime {
    const std::vector<EncodedText> texts = random_texts(
        lengths, vocabulary, random_key({settings.seed, static_cast<std::uint64_t>(number)}));
    const auto start = BenchmarkClock::now();
    model.predict(texts);
    return {.milliseconds = milliseconds_since(start)};
  });
  return step_benchmark(
      times, work_of(model.parameters(), lengths, forward_gflop(settings, lengths)), plan);
}

}  // namespace roformer
