#include "bench/random_training.h"

#include <ATen/TensorOperators.h>

#include "base/random.h"

namespace roformer {
namespace {

MaskedBatch random_batch(const Settings& settings, std::uint64_t key) {
  Random random(key);
  MaskedBatch batch;
  batch.rows = settings.training.batch;
  batch.length = settings.data.length;
  for (std::int64_t i = 0; i < batch.tokens(); ++i) {
    if (i % batch.length == 0) batch.sequence_starts.push_back(i);
    const auto id = static_cast<std::int64_t>(
        5 + random.below(static_cast<std::uint64_t>(settings.model.vocabulary - 5)));
    batch.ids.push_back(id);
    if (random.uniform() >= settings.data.masking.probability) continue;
    batch.places.push_back(i);
    batch.labels.push_back(id);
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

}  // namespace

double milliseconds_since(BenchmarkClock::time_point start) {
  return std::chrono::duration<double, std::milli>(BenchmarkClock::now() - start).count();
}

void wait_for(const at::Tensor& scalar) {
  scalar.item<double>();
}

RandomTraining::RandomTraining(const Settings& settings, const ComputePlan& plan)
    : settings_(settings),
      model_(settings, settings.model.vocabulary, plan),
      optimizer_(model_.parameters(), {.beta1 = settings.training.beta1,
                                       .beta2 = settings.training.beta2,
                                       .epsilon = settings.training.epsilon,
                                       .weight_decay = settings.training.weight_decay}) {}

RandomTraining::Step RandomTraining::step(std::uint64_t number) {
  const auto start = BenchmarkClock::now();
  const MaskedBatch source = random_batch(settings_, random_key({settings_.seed, number}));
  const LanguageBatch batch = settings_.task == TaskKind::causal_lm
                                  ? to_device(causal_batch(source), model_.plan().device)
                                  : to_device(source, model_.plan().device);
  Step result{.loading = milliseconds_since(start),
              .places = static_cast<double>(batch.labels.numel())};
  model_.parameters().apply_constraints();
  const CrossEntropy loss = model_.loss(batch, {.training = true,
                                                .key = random_key({7, number}),
                                                .step = static_cast<std::int64_t>(number)});
  loss.loss_sum.backward();
  const OptimizerOutcome outcome =
      optimizer_.step({.learning_rate = settings_.training.learning_rate,
                       .places = result.places,
                       .clip = settings_.training.clip,
                       .loss = loss.loss_sum.detach()});
  wait_for(outcome.gradient_norm);
  result.milliseconds = milliseconds_since(start);
  return result;
}

}  // namespace roformer
