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
  const ScheduleKind kind =
      GENERATE(ScheduleKind::constant, ScheduleKind::linear, ScheduleKind::cosine,
               ScheduleKind::inverse_square_root, ScheduleKind::wsd);
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

TEST_CASE("wsd is constant, and decays over the last steps") {
  // transformers 5.24: get_wsd_schedule(num_warmup_steps=10, num_decay_steps=20,
  // num_training_steps=100, min_lr_ratio=0.1, decay_type="linear") from step 10 on.
  TrainingSettings settings;
  settings.schedule = ScheduleKind::wsd;
  settings.steps = {100, Period::Unit::steps};
  settings.warmup = {10, Period::Unit::steps};
  settings.decay = {20, Period::Unit::steps};
  settings.final_learning_rate = 0.1;
  const auto at = [&](double step, double step_size = 1) {
    return learning_rate_share(make_schedule(settings, {}), {.done = step, .step = step_size});
  };
  CHECK(at(0) == 0.1);
  CHECK(at(9) == 1);
  for (const double step : {10, 50, 79, 80}) CHECK(at(step) == 1);
  CHECK(at(81) == Approx(0.955));
  CHECK(at(90) == Approx(0.55));
  CHECK(at(99) == Approx(0.145));
  settings.decay = {};
  settings.decay_ratio = 0.2;
  CHECK(at(90) == Approx(0.55));
  settings.decay_ratio = 0;
  CHECK(at(99) == 1);
}

TEST_CASE("wsd has the same bits before its decay for trainings of all lengths") {
  TrainingSettings settings;
  settings.schedule = ScheduleKind::wsd;
  settings.warmup = {70, Period::Unit::steps};
  const Period::Unit unit = GENERATE(Period::Unit::steps, Period::Unit::epochs);
  const BatchMeasure measure{.batches_per_epoch = 17, .batches_per_step = 3};
  const double step = unit == Period::Unit::steps ? 1 : 3.0 / 17;
  settings.steps = {300, unit};
  const Schedule shorter = make_schedule(settings, measure);
  settings.steps = {1170, unit};
  settings.decay = {100, Period::Unit::steps};
  const Schedule longer = make_schedule(settings, measure);
  for (int i = 0; i < 200; ++i) {
    const Progress progress{.done = i * step, .step = step};
    CHECK(learning_rate_share(shorter, progress) == learning_rate_share(longer, progress));
  }
  CHECK(longer.decay == Approx(100 * step));
}

}  // namespace roformer
