#include "training/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace roformer {

double learning_rate_share(const Schedule& schedule, const Progress& progress) {
  const double after = progress.done + progress.step;
  // Half a step of room: 3 * (1.0 / 3) may fall on either side of 1.
  if (after < schedule.warmup - progress.step / 2) {
    return schedule.initial_rate + (1 - schedule.initial_rate) * (after / schedule.warmup);
  }
  // At the end of the warm-up the decay has not begun.
  const double decayed =
      schedule.warmup >= 1
          ? 0
          : std::clamp((progress.done - schedule.warmup) / (1 - schedule.warmup), 0.0, 1.0);
  switch (schedule.kind) {
    case ScheduleKind::constant:
      return 1;
    case ScheduleKind::linear:
      return 1 - (1 - schedule.final_rate) * decayed;
    case ScheduleKind::cosine:
      return schedule.final_rate +
             (1 - schedule.final_rate) * 0.5 * (1 + std::cos(std::numbers::pi * decayed));
    case ScheduleKind::wsd: {
      if (schedule.decay == 0 || progress.done <= schedule.decay_start()) return 1;
      const double share = (progress.done - schedule.decay_start()) / schedule.decay;
      return 1 - (1 - schedule.final_rate) * std::min(share, 1.0);
    }
    case ScheduleKind::inverse_square_root: {
      const double peak = schedule.warmup > 0 ? schedule.warmup : progress.step;
      return after <= peak ? 1 : std::sqrt(peak / after);
    }
  }
  return 1;
}

double steps_in(const Period& period, const BatchMeasure& batch) {
  switch (period.unit) {
    case Period::Unit::epochs:
      return period.amount * batch.batches_per_epoch / batch.batches_per_step;
    case Period::Unit::tokens:
      return period.amount / (batch.tokens_per_batch * batch.batches_per_step);
    default:
      return period.amount;
  }
}

namespace {

// In the unit of training.steps.
double in_unit_of_steps(const Period& period, const TrainingSettings& settings,
                        const BatchMeasure& batch) {
  const Period::Unit unit = settings.steps.unit;
  if (period.unit == unit) return period.amount;
  // The check of the configuration refuses minutes beside another unit.
  ROFORMER_ASSERT(period.unit != Period::Unit::minutes && unit != Period::Unit::minutes);
  return steps_in(period, batch) / steps_in({1, unit}, batch);
}

Schedule make_wsd(const TrainingSettings& settings, const BatchMeasure& batch) {
  const double length = settings.steps.amount;
  const auto measured = [&](const Period& period, double ratio) {
    return period.is_zero() ? ratio * length : in_unit_of_steps(period, settings, batch);
  };
  const double warmup = std::min(measured(settings.warmup, settings.warmup_ratio), length);
  return {.kind = ScheduleKind::wsd,
          .warmup = warmup,
          .initial_rate = settings.initial_learning_rate / settings.learning_rate,
          .final_rate = settings.final_learning_rate,
          .decay = std::min(measured(settings.decay, settings.decay_ratio), length - warmup),
          .length = length};
}

}  // namespace

Schedule make_schedule(const TrainingSettings& settings, const BatchMeasure& batch) {
  if (settings.schedule == ScheduleKind::wsd) return make_wsd(settings, batch);
  Schedule schedule{.kind = settings.schedule,
                    .warmup = settings.warmup_ratio,
                    .initial_rate = settings.initial_learning_rate / settings.learning_rate,
                    .final_rate = settings.final_learning_rate};
  if (settings.warmup.is_zero()) return schedule;
  if (settings.warmup.unit == settings.steps.unit) {
    schedule.warmup = settings.warmup.amount / settings.steps.amount;
  } else {
    // The check of the configuration refuses minutes beside another unit.
    ROFORMER_ASSERT(settings.warmup.unit != Period::Unit::minutes &&
                    settings.steps.unit != Period::Unit::minutes);
    schedule.warmup = steps_in(settings.warmup, batch) / steps_in(settings.steps, batch);
  }
  schedule.warmup = std::min(schedule.warmup, 1.0);
  return schedule;
}

StagePlan::StagePlan(const TrainingSettings& settings, std::span<const StageSettings> stages,
                     const BatchNumbers& numbers)
    : staged_(!stages.empty()) {
  if (!staged_) {
    stages_.push_back({.learning_rate = settings.learning_rate, .numbers = numbers});
    return;
  }
  // Before steps were shared, each process had training.accumulation micro-batches.
  const std::int64_t begun_by = numbers.per_step() / settings.accumulation;
  std::int64_t first_batch = 0;
  for (const StageSettings& stage : stages) {
    const std::int64_t batches = stage.accumulation.value_or(settings.accumulation) * begun_by;
    stages_.push_back({.first_step = end_step_,
                       .first_batch = first_batch,
                       .warmup = stage.warmup,
                       .learning_rate = stage.learning_rate.value_or(settings.learning_rate),
                       .numbers = share_of_step(batches, numbers.rank, numbers.processes)});
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

std::size_t StagePlan::stage_of_batch(std::int64_t number) const {
  return static_cast<std::size_t>(
      std::ranges::upper_bound(stages_, number, {}, &Stage::first_batch) - stages_.begin() - 1);
}

StagePlan::StageBatch StagePlan::of_batch(std::int64_t number) const {
  const std::size_t stage = stage_of_batch(number);
  return {.stage = static_cast<std::int64_t>(stage), .number = number - stages_[stage].first_batch};
}

StagePlan::StagePass StagePlan::of_pass(std::int64_t first, std::int64_t i) const {
  std::size_t stage = stage_of_batch(first);
  for (; stage + 1 < stages_.size(); ++stage) {
    const std::int64_t end = stages_[stage + 1].first_batch;
    const std::int64_t left = (end - first) / stages_[stage].numbers.groups();
    if (i < left) break;
    i -= left;
    first = end;
  }
  const BatchNumbers& numbers = stages_[stage].numbers;
  return {.batch = {.stage = static_cast<std::int64_t>(stage),
                    .number = numbers.number(first, i) - stages_[stage].first_batch},
          .part = numbers.part()};
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
