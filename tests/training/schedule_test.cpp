#include "training/schedule.h"

#include <cmath>

#include "catch.h"

namespace roformer {
namespace {

// The share at step `step` (from 0) of 100.
double at_step(const Schedule& schedule, int step) {
  return learning_rate_share(schedule, {.done = step / 100.0, .step = 0.01});
}

}  // namespace

TEST_CASE("every schedule warms up alike") {
  const ScheduleKind kind = GENERATE(ScheduleKind::constant, ScheduleKind::linear,
                                     ScheduleKind::cosine, ScheduleKind::inverse_square_root);
  const Schedule schedule{.kind = kind, .warmup = 0.1};
  CHECK(at_step(schedule, 0) == Approx(0.1));
  CHECK(at_step(schedule, 4) == Approx(0.5));
  CHECK(at_step(schedule, 9) == Approx(1));
  CHECK(at_step({.kind = kind}, 0) == Approx(1));
  CHECK(at_step({.kind = kind, .warmup = 1}, 99) == Approx(1));
  for (int step = 9; step < 99; ++step) {
    CHECK(at_step(schedule, step + 1) <= at_step(schedule, step));
    CHECK(at_step(schedule, step) > 0);
  }
}

TEST_CASE("a warm-up rises linearly from the initial rate") {
  // RoFormer 4.1: from 1e-7 to 5e-4. Step k of 10 has 1e-7 + (5e-4 - 1e-7) k/10.
  const Schedule schedule{
      .kind = ScheduleKind::inverse_square_root, .warmup = 0.1, .initial_rate = 1e-7 / 5e-4};
  for (int k = 1; k <= 10; ++k) {
    CHECK(5e-4 * at_step(schedule, k - 1) == Approx(1e-7 + (5e-4 - 1e-7) * k / 10).epsilon(1e-12));
  }
  CHECK(at_step(schedule, 39) == Approx(0.5));
  CHECK(at_step({.warmup = 0.1, .initial_rate = 1}, 0) == 1);
}

TEST_CASE("after the warm-up each schedule is its formula") {
  // PyTorch: LinearLR(1, 0.2, 90) and CosineAnnealingLR(90, 0.2 * peak), 45 steps in, are at the
  // middle between peak and end.
  CHECK(at_step({.kind = ScheduleKind::linear, .warmup = 0.1, .final_rate = 0.2}, 55) ==
        Approx(0.6));
  CHECK(at_step({.kind = ScheduleKind::cosine, .warmup = 0.1, .final_rate = 0.2}, 55) ==
        Approx(0.6));
  CHECK(at_step({.kind = ScheduleKind::cosine}, 25) == Approx(0.5 + std::sqrt(0.125)));
  CHECK(at_step({.kind = ScheduleKind::linear}, 99) == Approx(0.01));
  CHECK(at_step({.kind = ScheduleKind::constant, .warmup = 0.1}, 99) == 1);
  // Vaswani et al. 2017, eq. 3: step^-0.5 over warmup^-0.5.
  CHECK(at_step({.kind = ScheduleKind::inverse_square_root, .warmup = 0.1}, 39) == Approx(0.5));
  CHECK(at_step({.kind = ScheduleKind::inverse_square_root}, 99) == Approx(0.1));
}

}  // namespace roformer
