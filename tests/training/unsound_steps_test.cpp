#include <csignal>
#include <limits>

#include "catch.h"
#include "has.h"
#include "report/json_lines.h"
#include "said.h"
#include "temporary_folder.h"
#include "training/checkpoint.h"
#include "training/toy_training.h"

namespace roformer {
namespace fs = std::filesystem;

TEST_CASE("steps that are not finite are skipped, counted, and too many end the training") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.max_bad_steps = 3;
  const double bad =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  SECTION("a few") {
    ToyTask task({.loss_factor = [&](std::int64_t batch) {
      return batch == 10 || batch == 11 || batch == 20 ? bad : 1.0;
    }});
    const TrainingSummary summary = train_toy(folder.path / "run", task, settings);
    CHECK(summary.skipped_steps == 3);
    CHECK(summary.consumed.steps == 60);
    CHECK(at::isfinite(task.parameters().flat_values()).all().item<bool>());
    const auto lines = lasting_metrics(folder.path / "run");
    CHECK(lines[11]["skipped"] == 1);  // ten steps and a validation before
    CHECK(lines[11]["loss"].is_null());
  }
  SECTION("three in a row") {
    ToyTask task({.loss_factor = [&](std::int64_t batch) { return batch >= 30 ? bad : 1.0; }});
    CHECK_THROWS_WITH(train_toy(folder.path / "run", task, settings),
                      Catch::Contains("3 steps in a row were not finite (step 33") &&
                          Catch::Contains("training.learning_rate"));
    CHECK(find_checkpoint(folder.path / "run", "last").filename() == "step-00000030");
  }
}

TEST_CASE("with training.check_finite the first step that is not finite ends the training") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.check_finite = true;
  ToyTask task({.loss_factor = [](std::int64_t batch) {
    return batch >= 30 ? std::numeric_limits<double>::infinity() : 1.0;
  }});
  CHECK_THROWS_WITH(
      train_toy(folder.path / "run", task, settings),
      Catch::Contains("step 31: the loss is not finite, the outputs of all layers are"));
  ToyTask good;
  CHECK(train_toy(folder.path / "good", good, settings).consumed.steps == 60);
}

TEST_CASE("a loss that leaps is said, and losses that never come back end the training") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.max_bad_steps = 3;
  double factor = 30;
  const auto train_with = [&](const char* name) {
    ToyTask task({.loss_factor = [&](std::int64_t batch) {
      return batch == 30 || (batch > 30 && factor > 1e3) ? factor : 1.0;
    }});
    return train_toy(folder.path / name, task, settings);
  };
  const std::string words = said([&] { train_with("leap"); });
  CHECK(has(words, "step 31: the loss leaps to "));
  factor = 1e9;
  CHECK_THROWS_WITH(train_with("hopeless"), Catch::Contains("3 steps in a row above 100") &&
                                                Catch::Contains("the training has diverged"));
}

TEST_CASE("weights that are not finite are never saved, and the remedies help") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  TrainingSettings settings = toy_settings();
  settings.clip = 0;
  settings.schedule = ScheduleKind::constant;
  settings.warmup = {};
  settings.max_bad_steps = 1000;
  settings.save_every = GENERATE(Period{7, Period::Unit::steps}, Period{});
  settings.validate_every = GENERATE(Period{10, Period::Unit::steps}, Period{});
  // Finite gradients, but an update that no float holds.
  TrainingSettings diverging = settings;
  diverging.learning_rate = 1e38;
  diverging.steps = {300, Period::Unit::steps};
  settings.steps = {14, Period::Unit::steps};
  ToyTask good;
  train_toy(path, good, settings);
  const auto checkpoints = list_checkpoints(path / "checkpoints");
  ToyTask bad;
  CHECK_THROWS_WITH(train_toy(path, bad, diverging, ExistingRun::resume),
                    Catch::Contains("the weights are not finite after step") &&
                        Catch::Contains("training.learning_rate") &&
                        Catch::Contains("the last checkpoint kept is step-00000014"));
  CHECK(list_checkpoints(path / "checkpoints") == checkpoints);
  CHECK(read_training_summary(path)->reason == StopReason::diverged);
  settings.steps = {20, Period::Unit::steps};
  ToyTask again;
  CHECK(train_toy(path, again, settings, ExistingRun::resume).consumed.steps == 20);
}

TEST_CASE("a validation that is not finite is the best of nothing, and no end") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  TrainingSettings settings = toy_settings();
  settings.keep_last = 10;
  settings.save_every = {};
  const double bad =
      GENERATE(std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity());
  std::int64_t validations = 0;
  SECTION("between good ones") {
    ToyTask task({.validation_factor = [&] { return ++validations % 2 == 0 ? 1.0 : bad; }});
    const TrainingSummary summary = train_toy(path, task, settings);
    REQUIRE(summary.best() != nullptr);
    CHECK(summary.best()->step % 20 == 0);
    // Neither the first, which had nothing before it, nor the later ones were saved.
    for (const fs::path& checkpoint : list_checkpoints(path / "checkpoints")) {
      CHECK(checkpoint.string().ends_with("0"));
      CHECK(std::stoi(checkpoint.filename().string().substr(5)) % 20 == 0);
    }
  }
  SECTION("at the end") {
    ToyTask task({.validation_factor = [&] { return ++validations == 2 ? 1.0 : bad; }});
    CHECK_THROWS_WITH(train_toy(path, task, settings),
                      Catch::Contains("the validation after step 60 is not finite") &&
                          Catch::Contains("the last checkpoint kept is step-00000020"));
    CHECK(find_checkpoint(path, "last").filename() == "step-00000020");
    const auto summary = read_training_summary(path);
    REQUIRE(summary);
    CHECK(summary->reason == StopReason::diverged);
    CHECK(summary->divergence == "the validation after step 60 is not finite");
    CHECK(summary->validations.size() == 6);
  }
}

TEST_CASE("what a step could do nothing with is not saved") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  TrainingSettings settings = toy_settings();  // saves at 7, 14, 21, ..., validates at 10, 20, ...
  settings.max_bad_steps = 100;
  settings.keep_last = 100;
  const double bad = std::numeric_limits<double>::quiet_NaN();
  ToyTask task({.before_batch =
                    [](std::int64_t batch) {
                      if (batch == 37) ::raise(SIGINT);
                    },
                .loss_factor =
                    [&](std::int64_t batch) {
                      return batch == 13 || batch == 36 || batch == 37 ? bad : 1.0;
                    }});
  CHECK(train_toy(path, task, settings).reason == StopReason::signal);
  CHECK(fs::exists(path / "checkpoints" / "step-00000007"));
  // In its place the next good step, after which a request to stop is followed, too.
  CHECK_FALSE(fs::exists(path / "checkpoints" / "step-00000014"));
  CHECK(fs::exists(path / "checkpoints" / "step-00000015"));
  CHECK(find_checkpoint(path, "last").filename() == "step-00000039");
  ToyTask again;
  CHECK(train_toy(path, again, settings, ExistingRun::resume).consumed.steps == 60);
}

TEST_CASE("a stop is followed even where no step is good any more, and nothing bad is saved") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  TrainingSettings settings = toy_settings();
  settings.max_bad_steps = 1000;
  settings.validate_every = {};
  ToyTask task({.before_batch =
                    [](std::int64_t batch) {
                      if (batch == 20) ::raise(SIGTERM);
                    },
                .loss_factor =
                    [](std::int64_t batch) {
                      return batch >= 16 ? std::numeric_limits<double>::quiet_NaN() : 1.0;
                    }});
  const TrainingSummary summary = train_toy(path, task, settings);
  CHECK(summary.reason == StopReason::signal);
  CHECK(summary.consumed.steps <= 25);
  CHECK(find_checkpoint(path, "last").filename() == "step-00000014");
}

TEST_CASE("a training that is shorter than the patience with bad steps has diverged all the same") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.steps = {3, Period::Unit::steps};
  settings.max_bad_steps = 10;
  ToyTask task(
      {.loss_factor = [](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); }});
  CHECK_THROWS_WITH(train_toy(folder.path / "run", task, settings),
                    Catch::Contains("none of the 3 steps was finite"));
}

}  // namespace roformer
