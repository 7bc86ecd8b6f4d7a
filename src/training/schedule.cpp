#include "training/schedule.h"

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

Schedule make_schedule(const TrainingSettings& settings, const BatchMeasure& batch) {
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

}  // namespace roformer
