#include "training/training_step.h"

#include <utility>

#include "base/random.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

// A micro-batch with fewer sequences than parts leaves some processes without work.
at::Tensor pass_of(TrainingObjective& objective, const TrainingBatch& batch,
                   const ForwardMode& mode, const StepSettings& settings,
                   const std::function<void()>& forward_done) {
  const bool empty = settings.numbers.parts > 1 && batch.tokens == 0;
  if (empty && !objective.needs_other_parts()) {
    forward_done();
    return at::zeros({}, objective.parameters().flat_values().options().dtype(at::kDouble));
  }
  return settings.graphs != nullptr ? settings.graphs->pass(batch, mode)
                                    : plain_pass(objective, batch, mode, forward_done);
}

}  // namespace

StepResult take_training_step(TrainingObjective& objective, Optimizer& optimizer,
                              const NextBatch& next, const StepSettings& settings,
                              StepReduction* reduction) {
  const std::int64_t count = settings.numbers.accumulation;
  StepSums sums;
  std::int64_t missing = 0;  // micro-batches that are not computed
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > 0 && settings.stop && settings.stop()) {
      missing = count - i;
      break;
    }
    std::unique_ptr<TrainingBatch> own = next();
    const TrainingBatch& batch = *own;
    sums.targets += batch.target_count;
    sums.tokens += batch.tokens;
    const auto index = static_cast<std::uint64_t>(settings.numbers.index_in_step(i));
    const std::uint64_t key =
        random_key({settings.seed, static_cast<std::uint64_t>(settings.step), index});
    const ForwardMode mode{
        .training = true, .key = key, .step = settings.step, .processes = settings.processes};
    const auto forward_done = [&] {
      if (reduction != nullptr && i + 1 == count) reduction->begin_last();
    };
    const at::Tensor loss = pass_of(objective, batch, mode, settings, forward_done);
    sums.loss = sums.loss.defined() ? sums.loss + loss : loss;
    own.reset();
    if (reduction != nullptr) reduction->add_micro_batch(loss, objective.parameters());
  }
  ParameterStore& parameters = objective.parameters();
  const bool whole =
      reduction != nullptr ? reduction->finish(sums, parameters, missing) : missing == 0;
  if (!whole) {
    parameters.zero_gradients();
    return {.given_up = true};
  }
  if (sums.targets == 0) {  // a small batch may have no masked word
    parameters.zero_gradients();
    return {.sums = sums,
            .outcome = {.gradient_norm = at::zeros({}, at::kDouble),
                        .skipped = at::zeros({}, at::kBool)}};
  }
  const OptimizerOutcome outcome = optimizer.step({.learning_rate = settings.learning_rate,
                                                   .targets = static_cast<double>(sums.targets),
                                                   .clip = settings.clip,
                                                   .loss = sums.loss});
  parameters.apply_constraints();
  return {.sums = sums, .outcome = outcome};
}

StepResult take_training_step(TrainingObjective& objective, Optimizer& optimizer,
                              std::vector<std::unique_ptr<TrainingBatch>> batches,
                              const StepSettings& settings, StepReduction* reduction) {
  StepSettings of_these = settings;
  of_these.numbers.accumulation = static_cast<std::int64_t>(batches.size());
  auto batch = batches.begin();
  return take_training_step(
      objective, optimizer, [&] { return std::move(*batch++); }, of_these, reduction);
}

}  // namespace roformer
