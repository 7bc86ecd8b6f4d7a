#include "bench/random_training.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/random.h"
#include "bench/step_arithmetic.h"
#include "bench/timing.h"
#include "config/task_facts.h"
#include "tasks/classification/classification_task.h"
#include "tasks/language/language_model.h"
#include "tasks/translation/translator.h"

namespace roformer {
namespace {

constexpr std::int64_t kSpecialTokens = 5;      // of BERT's vocabulary; random tokens are others
constexpr std::int64_t kPredictedBatches = 16;  // a file of 512 sentences where a batch has 32
constexpr std::int64_t kPairs = 4000;           // that translation buckets are cut from
constexpr std::int64_t kBuckets = 4;
constexpr std::uint64_t kLengthSeed = 7;

Random random_of_batch(const Settings& settings, std::int64_t number) {
  return Random(random_key({settings.seed, static_cast<std::uint64_t>(number)}));
}

std::int64_t random_token(Random& random, std::int64_t vocabulary, std::int64_t first) {
  return first +
         static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(vocabulary - first)));
}

// Training on random tokens; make_batch() and loss_sum() depend on the kind of model.
template <typename Model>
class RandomObjective : public TrainingObjective {
 public:
  template <typename... Arguments>
  explicit RandomObjective(const Settings& settings, Arguments&&... arguments)
      : settings_(settings), model_(settings, std::forward<Arguments>(arguments)...) {}

  ParameterStore& parameters() override { return model_.parameters(); }

 protected:
  Settings settings_;
  Model model_;
};

// --- Language models ---

MaskedBatch random_batch(const Settings& settings, Random random) {
  MaskedBatch batch;
  batch.rows = settings.training.batch;
  batch.length = settings.data.length;
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    if (i % batch.length == 0) batch.sequence_starts.push_back(i);
    batch.ids.push_back(random_token(random, settings.model.vocabulary, kSpecialTokens));
    if (random.uniform() >= settings.data.masking.probability) continue;
    batch.target_positions.push_back(i);
    batch.labels.push_back(batch.ids.back());
  }
  batch.sequence_starts.push_back(batch.tokens());
  return batch;
}

CausalBatch causal_batch(const MaskedBatch& masked) {
  CausalBatch batch;
  static_cast<TokenBatch&>(batch) = masked;
  batch.targets.assign(masked.ids.begin() + 1, masked.ids.end());
  batch.targets.push_back(masked.ids.front());
  batch.target_count = batch.tokens();
  return batch;
}

class RandomLanguage : public RandomObjective<LanguageModel> {
 public:
  RandomLanguage(const Settings& settings, const ComputePlan& plan)
      : RandomObjective(settings, settings.model.vocabulary, plan) {}

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    const MaskedBatch source = random_batch(settings_, random_of_batch(settings_, number));
    auto result = std::make_unique<LanguageTrainingBatch>();
    LanguageBatch batch = task_facts(settings_.task).causal
                              ? to_device(causal_batch(source), at::kCPU)
                              : to_device(source, at::kCPU);
    result->target_count = batch.labels.numel();
    result->batch = model_.pad_and_pin(std::move(batch));
    result->tokens = source.tokens();
    return result;
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const LanguageBatch& source = static_cast<const LanguageTrainingBatch&>(batch).batch;
    return model_.loss(to_device(source, model_.plan().device), mode).loss_sum;
  }
  bool repeats_its_work() const override { return model_.repeats_its_work(); }
};

// --- Classifiers ---

std::vector<EncodedText> random_texts(const Settings& settings,
                                      const std::vector<std::int64_t>& lengths,
                                      std::int64_t number) {
  Random random = random_of_batch(settings, number);
  std::vector<EncodedText> texts;
  for (const std::int64_t length : lengths) {
    EncodedText& text = texts.emplace_back(EncodedText{.second = length});
    for (std::int64_t i = 0; i < length; ++i) {
      text.ids.push_back(
          static_cast<TokenId>(random_token(random, settings.model.vocabulary, kSpecialTokens)));
    }
  }
  return texts;
}

StepWork classifier_work(const ParameterStore& parameters, const std::vector<std::int64_t>& lengths,
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
class RandomSentences : public RandomObjective<Classifier> {
 public:
  RandomSentences(const Settings& settings, const ComputePlan& plan,
                  std::vector<std::int64_t> lengths)
      : RandomObjective(settings, settings.model.vocabulary, classifier_shape(settings), plan),
        targets_(targets_of(settings)),
        lengths_(std::move(lengths)),
        examples_(lengths_.size(), &example_) {}

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    auto result = std::make_unique<SentenceBatch>();
    for (const EncodedText& text : random_texts(settings_, lengths_, number)) {
      append(text, result->texts);
    }
    result->target_count = std::ssize(lengths_);
    result->tokens = std::ssize(result->texts.ids);
    return result;
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const TextBatch& texts = static_cast<const SentenceBatch&>(batch).texts;
    return classification_loss_sum(targets_, model_.forward(texts, mode), examples_);
  }

 private:
  Targets targets_;
  std::vector<std::int64_t> lengths_;
  LabelledText example_{.label = 1};
  std::vector<const LabelledText*> examples_;  // one for each sentence
};

// --- Translators ---

std::vector<PairLength> wmt_lengths() {
  const auto clipped = [](double length, double most) {
    return static_cast<std::int32_t>(std::clamp(std::round(length), 4.0, most));
  };
  Random random(kLengthSeed);
  std::vector<PairLength> lengths;
  for (std::int64_t i = 0; i < kPairs; ++i) {
    const std::int32_t source = clipped(std::exp(std::log(24.0) + 0.55 * random.normal()), 120);
    const std::int32_t target = clipped(source * (1.05 + 0.12 * random.normal()), 130);
    lengths.push_back({.source = source, .target = target});
  }
  return lengths;
}

struct PairBatch : TrainingBatch {
  TranslationBatch pairs;
};

class RandomPairs : public RandomObjective<Translator> {
 public:
  RandomPairs(const Settings& settings, const ComputePlan& plan, std::vector<LengthBucket> buckets)
      : RandomObjective(settings,
                        TranslationVocabularies{.source = settings.model.vocabulary,
                                                .target = settings.model.vocabulary,
                                                .joint = true},
                        plan),
        buckets_(std::move(buckets)) {}

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    Random random = random_of_batch(settings_, number);
    ParallelBatch batch{.source_starts = {0}, .target_starts = {0}};
    const auto fill = [&](std::int64_t count, std::vector<std::int64_t>& ids) {
      for (std::int64_t i = 0; i < count; ++i) {
        ids.push_back(random_token(random, settings_.model.vocabulary, 4));
      }
    };
    for (const PairLength& pair : buckets_[static_cast<std::uint64_t>(number) % buckets_.size()]) {
      fill(pair.source, batch.source_ids);
      fill(pair.target, batch.target_ids);
      fill(pair.target, batch.labels);
      batch.source_starts.push_back(std::ssize(batch.source_ids));
      batch.target_starts.push_back(std::ssize(batch.target_ids));
    }
    auto result = std::make_unique<PairBatch>();
    result->pairs = to_tensors(batch);
    result->target_count = std::ssize(batch.labels);
    result->tokens = result->target_count;
    return result;
  }

  at::Tensor loss_sum(const TrainingBatch& batch, const ForwardMode& mode) override {
    const TranslationBatch& pairs = static_cast<const PairBatch&>(batch).pairs;
    return model_
        .loss(to_device(pairs, model_.plan().device), mode, settings_.translation.label_smoothing)
        .loss_sum;
  }

 private:
  std::vector<LengthBucket> buckets_;
};

}  // namespace

std::unique_ptr<TrainingObjective> random_language(const Settings& settings,
                                                   const ComputePlan& plan) {
  return std::make_unique<RandomLanguage>(settings, plan);
}

std::unique_ptr<TrainingObjective> random_texts_objective(const Settings& given,
                                                          const ComputePlan& plan,
                                                          std::int64_t length) {
  Settings settings = given;
  settings.task = TaskKind::glue;
  settings.glue.task = GlueTask::mrpc;
  settings.glue.class_names.clear();
  return std::make_unique<RandomSentences>(
      settings, plan,
      std::vector<std::int64_t>(static_cast<std::size_t>(settings.training.batch), length));
}

std::unique_ptr<TrainingObjective> random_pairs(const Settings& settings, const ComputePlan& plan) {
  return std::make_unique<RandomPairs>(settings, plan, wmt_buckets(settings.training.batch_tokens));
}

StepBenchmark benchmark_language_model(const Settings& settings, const ComputePlan& plan,
                                       const BenchmarkRounds& rounds) {
  TimedTraining training(random_language(settings, plan), settings);
  const RoundTimes times =
      time_rounds(rounds, 1, [&](std::int64_t number) { return training.step(number); });
  double targets = 0;
  for (const StepTime& step : times.measured) {
    targets += static_cast<double>(step.targets) / static_cast<double>(rounds.measured);
  }
  const std::int64_t tokens = settings.training.batch * settings.data.length;
  return step_benchmark(
      times,
      {.parameters = training.parameters().count(),
       .tokens = tokens,
       .examples = settings.training.batch,
       .gflop = language_gflop(settings, {.tokens = static_cast<double>(tokens),
                                          .targets = targets,
                                          .length = static_cast<double>(settings.data.length)})},
      plan);
}

std::vector<std::int64_t> sst2_lengths(std::int64_t sentences) {
  constexpr std::array<std::int64_t, 32> kLengths = {3,  4,  4,  5,  5,  5,  6,  6,  6,  7,  7,
                                                     8,  8,  9,  9,  10, 11, 11, 12, 13, 14, 15,
                                                     16, 17, 18, 20, 22, 24, 26, 29, 34, 42};
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < sentences; ++i) {
    lengths.push_back(kLengths[static_cast<std::size_t>(i % std::ssize(kLengths))]);
  }
  std::ranges::sort(lengths);
  return lengths;
}

StepBenchmark benchmark_classifier(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds) {
  const std::vector<std::int64_t> lengths = sst2_lengths(settings.training.batch);
  TimedTraining training(std::make_unique<RandomSentences>(settings, plan, lengths), settings);
  const RoundTimes times =
      time_rounds(rounds, 1, [&](std::int64_t number) { return training.step(number); });
  return step_benchmark(
      times, classifier_work(training.parameters(), lengths, 3 * text_gflop(settings, lengths)),
      plan);
}

StepBenchmark benchmark_prediction(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds) {
  Classifier model(settings, settings.model.vocabulary, classifier_shape(settings), plan);
  const std::vector<std::int64_t> lengths =
      sst2_lengths(kPredictedBatches * settings.training.batch);
  const RoundTimes times = time_rounds(rounds, 1, [&](std::int64_t number) -> StepTime {
    const std::vector<EncodedText> texts = random_texts(settings, lengths, number);
    return {.milliseconds = time_of([&] { model.predict(texts); })};
  });
  return step_benchmark(
      times, classifier_work(model.parameters(), lengths, text_gflop(settings, lengths)), plan);
}

std::vector<LengthBucket> wmt_buckets(std::int64_t tokens) {
  const std::vector<PairLength> lengths = wmt_lengths();
  const PairDealing dealing(lengths, {.tokens = tokens, .shuffle = false});
  const std::int64_t all = dealing.batches_per_epoch(), count = std::min(kBuckets, all);
  std::vector<LengthBucket> buckets;
  for (std::int64_t i = 0; i < count; ++i) {
    LengthBucket& bucket = buckets.emplace_back();
    for (const std::int64_t pair : dealing[(2 * i + 1) * all / (2 * count)]) {
      bucket.push_back(lengths[static_cast<std::size_t>(pair)]);
    }
  }
  return buckets;
}

StepBenchmark benchmark_translator(const Settings& settings, const ComputePlan& plan,
                                   const BenchmarkRounds& rounds) {
  const std::vector<LengthBucket> buckets = wmt_buckets(settings.training.batch_tokens);
  const auto count = std::ssize(buckets);
  StepWork work;
  for (const LengthBucket& bucket : buckets) {
    work.examples += std::ssize(bucket);
    for (const PairLength& pair : bucket) {
      work.tokens += pair.target;
      work.gflop += pair_gflop(settings, pair.source, pair.target) / static_cast<double>(count);
    }
  }
  work.examples /= count;
  work.tokens /= count;
  TimedTraining training(std::make_unique<RandomPairs>(settings, plan, buckets), settings);
  work.parameters = training.parameters().count();
  const RoundTimes times = time_rounds(rounds, count, [&](std::int64_t round) {
    StepTime mean;
    for (std::int64_t i = 0; i < count; ++i) {
      const StepTime step = training.step(round * count + i);
      mean.milliseconds += step.milliseconds / static_cast<double>(count);
      mean.loading += step.loading / static_cast<double>(count);
    }
    return mean;
  });
  return step_benchmark(times, work, plan);
}

}  // namespace roformer
