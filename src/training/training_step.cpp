#include "training/training_step.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

#include "base/random.h"

namespace roformer {

StepResult take_training_step(TrainingObjective& objective, AdamW& optimizer,
                              std::vector<std::unique_ptr<TrainingBatch>> batches,
                              const StepSettings& settings, StepReduction* reduction) {
  StepSums sums;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    TrainingBatch& batch = *batches[i];
    sums.targets += batch.target_count;
    sums.tokens += batch.tokens;
    const auto index =
        static_cast<std::uint64_t>(settings.numbers.index_in_step(static_cast<std::int64_t>(i)));
    const std::uint64_t key =
        random_key({settings.seed, static_cast<std::uint64_t>(settings.step), index});
    const ForwardMode mode{.training = true, .key = key, .step = settings.step};
    const auto forward_done = [&] {
      if (reduction != nullptr && i + 1 == batches.size()) reduction->begin_last();
    };
    const at::Tensor loss = settings.graphs != nullptr
                                ? settings.graphs->pass(batch, mode)
                                : plain_pass(objective, batch, mode, forward_done);
    sums.loss = sums.loss.defined() ? sums.loss + loss : loss;
    batches[i].reset();
    if (reduction != nullptr) reduction->add_micro_batch(loss, objective.parameters());
  }
  ParameterStore& parameters = objective.parameters();
  if (reduction != nullptr) reduction->finish(sums, parameters);
  if (sums.targets == 0) {  // masks may have met no word of a small batch
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

}  // namespace roformer
