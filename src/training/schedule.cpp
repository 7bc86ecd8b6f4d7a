#include "training/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

}  // namespace roformer
