#include "training/stage_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace roformer {

StagePlan::StagePlan(const TrainingSettings& settings, std::span<const StageSettings> stages,
                     const BatchNumbers& numbers)
    : staged_(!stages.empty()) {
  if (!staged_) {
    stages_.push_back({.learning_rate = settings.learning_rate, .numbers = numbers});
    return;
  }
  // The processes that the training was begun by may be other ones than today's.
  const std::int64_t begun_by = numbers.per_step() / settings.accumulation;
  std::int64_t first_batch = 0;
  for (const StageSettings& stage : stages) {
    BatchNumbers own = numbers;
    const std::int64_t batches = stage.accumulation.value_or(settings.accumulation) * begun_by;
    if (batches % numbers.processes != 0) {
      throw_usage("stages",
                  fmt::format("a step of stage {} has {} micro-batches, which {} processes cannot "
                              "share evenly",
                              stages_.size() + 1, batches, numbers.processes));
    }
    own.accumulation = batches / numbers.processes;
    stages_.push_back({.first_step = end_step_,
                       .first_batch = first_batch,
                       .warmup = stage.warmup,
                       .learning_rate = stage.learning_rate.value_or(settings.learning_rate),
                       .numbers = own});
    end_step_ += stage.steps;
    first_batch += stage.steps * batches;
  }
}

std::int64_t StagePlan::stage_of_step(std::int64_t step) const {
  return std::ranges::upper_bound(stages_, step, {}, &Stage::first_step) - stages_.begin() - 1;
}

bool StagePlan::ends_stage(std::int64_t steps) const {
  if (!staged_ || steps == 0) return false;
  return steps == end_step_ ||
         std::ranges::find(stages_, steps, &Stage::first_step) != stages_.end();
}

const BatchNumbers& StagePlan::numbers(std::int64_t step) const {
  return stages_[static_cast<std::size_t>(stage_of_step(step))].numbers;
}

double StagePlan::peak_rate(std::int64_t step) const {
  const Stage& stage = stages_[static_cast<std::size_t>(stage_of_step(step))];
  const std::int64_t done = step - stage.first_step + 1;
  if (done >= stage.warmup) return stage.learning_rate;
  return stage.learning_rate * static_cast<double>(done) / static_cast<double>(stage.warmup);
}

StagePlan::StageBatch StagePlan::of_batch(std::int64_t number) const {
  const auto stage =
      std::ranges::upper_bound(stages_, number, {}, &Stage::first_batch) - stages_.begin() - 1;
  return {.stage = stage, .number = number - stages_[static_cast<std::size_t>(stage)].first_batch};
}

double StagePlan::epochs(std::int64_t number, const TrainingTask& task) const {
  const StageBatch batch_of_stage = of_batch(number);
  double epochs =
      static_cast<double>(batch_of_stage.number) / task.batches_per_epoch_of(batch_of_stage.stage);
  for (std::int64_t stage = 0; stage < batch_of_stage.stage; ++stage) {
    const auto at = static_cast<std::size_t>(stage);
    epochs += static_cast<double>(stages_[at + 1].first_batch - stages_[at].first_batch) /
              task.batches_per_epoch_of(stage);
  }
  return epochs;
}

}  // namespace roformer
