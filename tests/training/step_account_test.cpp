#include "training/step_account.h"

#include <ATen/ops/scalar_tensor.h>

#include <cmath>
#include <limits>

#include "catch.h"
#include "temporary_folder.h"

namespace roformer {
namespace {

StepResult step_of(double loss_sum, std::int64_t targets, bool skipped = false) {
  return {.sums = {.loss = at::scalar_tensor(loss_sum), .targets = targets, .tokens = 10},
          .outcome = {.gradient_norm = at::scalar_tensor(2.0, at::kDouble),
                      .skipped = at::scalar_tensor(skipped, at::kBool)}};
}

}  // namespace

TEST_CASE("steps are counted when their numbers are read, and their means are over the targets") {
  const TemporaryFolder folder;
  const RunDirectory run(folder.path / "run", ExistingRun::refuse);
  TrainingState state;
  DivergenceWatch divergence(run, 3, [] {});
  int sound = 0;
  StepAccount account(state, divergence, [&] { ++sound; });
  const auto take = [&](StepResult result) {
    ++state.consumed.steps;
    account.add(std::move(result), 0.5, 0);
  };
  take(step_of(6, 3));
  CHECK(state.window.steps == 0);
  CHECK(state.consumed.tokens == 10);
  account.settle();
  CHECK(sound == 0);  // a first loss says nothing of what its step did
  take(step_of(std::numeric_limits<double>::infinity(), 5, true));
  take(step_of(0, 0));  // without targets: no step
  take(step_of(1, 4));
  account.settle();
  account.settle();  // each once
  CHECK(sound == 1);
  CHECK(state.window.steps == 3);
  CHECK(state.skipped_steps == 1);
  CHECK(state.skipped_in_row == 0);

  state.window.seconds = 2;
  const StepReport last = account.last_step(), window = account.window();
  CHECK(last.step == 4);
  CHECK(last.loss == 0.25);
  CHECK(last.learning_rate == 0.5);
  CHECK(window.loss == 1);  // 7 over 7 targets
  CHECK(window.gradient_norm == 2);
  CHECK(window.tokens_per_second == 20);
  account.close_window();
  CHECK(state.window.tokens == 0);
  CHECK(std::isnan(account.window().loss));
  CHECK(account.last_step().tokens_per_second == 20);  // of the window before
}

TEST_CASE("numbers do not wait on the device for ever, and bad steps in a row end a training") {
  const TemporaryFolder folder;
  const RunDirectory run(folder.path / "run", ExistingRun::refuse);
  TrainingState state;
  DivergenceWatch divergence(run, 3, [] {});
  StepAccount account(state, divergence, [] {});
  while (!account.is_full() && state.consumed.steps < 1000) {
    ++state.consumed.steps;
    account.add(step_of(1, 1, true), 0.5, 0);
  }
  CHECK(state.consumed.steps < 1000);
  CHECK_THROWS_AS(account.settle(), Diverged);
  CHECK(state.skipped_in_row == 3);
}

}  // namespace roformer
