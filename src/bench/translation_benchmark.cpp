#include "bench/translation_benchmark.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "base/random.h"
#include "bench/model_products.h"
#include "tasks/translation/translator.h"

namespace roformer {
namespace {

constexpr std::int64_t kPairs = 4000;
constexpr std::int64_t kBuckets = 4;
constexpr std::uint64_t kLengthSeed = 7;

std::int32_t clipped(double length, double most) {
  return static_cast<std::int32_t>(std::clamp(std::round(length), 4.0, most));
}

std::vector<PairLength> wmt_lengths() {
  Random random(kLengthSeed);
  std::vector<PairLength> lengths;
  for (std::int64_t i = 0; i < kPairs; ++i) {
    const std::int32_t source = clipped(std::exp(std::log(24.0) + 0.55 * random.normal()), 120);
    const std::int32_t target = clipped(source * (1.05 + 0.12 * random.normal()), 130);
    lengths.push_back({.source = source, .target = target});
  }
  return lengths;
}

// Multiply-adds of the matrix products of one pair's step, times two for FLOP and three for forward
// and both gradients.
double pair_gflop(const Settings& settings, const PairLength& pair) {
  const LayerProducts layer = layer_products(settings.model);
  const std::int64_t encoder = settings.model.layers;
  const std::int64_t decoder =
      settings.translation.decoder_layers > 0 ? settings.translation.decoder_layers : encoder;
  const double source = pair.source, target = pair.target;
  const auto stack = [&](std::int64_t layers, double length, bool causal) {
    return length * (static_cast<double>(layers) * (layer.projections + layer.behind) +
                     keys_of_layers(settings, layers, length, causal) * layer.of_pair);
  };
  const double cross =
      static_cast<double>(decoder) *
      (target * layer.cross_target + source * layer.cross_source + source * target * layer.of_pair);
  const double head = target * static_cast<double>(settings.model.width) *
                      static_cast<double>(settings.model.vocabulary);
  return 6 * (stack(encoder, source, false) + stack(decoder, target, true) + cross + head) * 1e-9;
}

struct PairBatch : TrainingBatch {
  TranslationBatch pairs;
};

class RandomPairs : public TrainingObjective {
 public:
  RandomPairs(const Settings& settings, const ComputePlan& plan, std::vector<LengthBucket> buckets)
      : settings_(settings),
        buckets_(std::move(buckets)),
        model_(settings,
               {.source = settings.model.vocabulary,
                .target = settings.model.vocabulary,
                .joint = true},
               plan) {}

  ParameterStore& parameters() override { return model_.parameters(); }

  std::unique_ptr<TrainingBatch> make_batch(std::int64_t number) const override {
    const auto index = static_cast<std::uint64_t>(number);
    Random random(random_key({settings_.seed, index}));
    ParallelBatch batch{.source_starts = {0}, .target_starts = {0}};
    const auto fill = [&](std::int64_t count, std::vector<std::int64_t>& ids) {
      const auto size = static_cast<std::uint64_t>(settings_.model.vocabulary - 4);
      for (std::int64_t i = 0; i < count; ++i) {
        ids.push_back(4 + static_cast<std::int64_t>(random.below(size)));
      }
    };
    for (const PairLength& pair : buckets_[index % buckets_.size()]) {
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
  Settings settings_;
  std::vector<LengthBucket> buckets_;
  Translator model_;
};

}  // namespace

std::vector<LengthBucket> wmt_buckets(std::int64_t tokens) {
  const std::vector<PairLength> lengths = wmt_lengths();
  const PairDealing dealing(lengths, {.tokens = tokens, .shuffle = false});
  const std::int64_t all = dealing.batches_per_epoch();
  std::vector<LengthBucket> buckets;
  for (std::int64_t i = 0; i < std::min(kBuckets, all); ++i) {
    LengthBucket bucket;
    for (const std::int64_t pair : dealing[(2 * i + 1) * all / (2 * std::min(kBuckets, all))]) {
      bucket.push_back(lengths[static_cast<std::size_t>(pair)]);
    }
    buckets.push_back(std::move(bucket));
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
      work.gflop += pair_gflop(settings, pair) / static_cast<double>(count);
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
