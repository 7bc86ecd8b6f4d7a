#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "catch.h"
#include "report/json_lines.h"
#include "temporary_folder.h"
#include "training/checkpoint.h"
#include "training/distributed/processes.h"
#include "training/signals.h"
#include "training/toy_training.h"

namespace roformer {
namespace fs = std::filesystem;

TEST_CASE("a run that was killed goes on as if nothing had happened") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  ToyOptions options;
  if (GENERATE(false, true)) {
    settings.optimizer = OptimizerKind::muon;
    settings.ema = 0.9;
    settings.layer_decay = 0.8;
    options.hidden = 24;
  }
  {
    ToyTask task(options);
    train_toy(folder.path / "whole", task, settings);
  }
  const auto kill = [] { ::kill(::getpid(), SIGKILL); };
  const ToyOptions undisturbed = options;
  std::int64_t saves = 0;
  SECTION("between two steps") {
    options.before_batch = [&](std::int64_t batch) {
      if (batch == 33) kill();
    };
  }
  SECTION("before the first checkpoint") {
    options.before_batch = [&](std::int64_t batch) {
      if (batch == 3) kill();
    };
  }
  SECTION("in the middle of a save") {
    options.while_saving = [&](const std::string&) {
      if (++saves == 4) kill();
    };
  }
  SECTION("twice") {
    options.before_batch = [&](std::int64_t batch) {
      if (batch == 15) kill();
    };
    REQUIRE(WIFSIGNALED(
        train_in_child(folder.path / "killed", options, settings, ExistingRun::refuse)));
    options.before_batch = [&](std::int64_t batch) {
      if (batch == 52) kill();
    };
  }
  const bool begun = is_run(folder.path / "killed");
  REQUIRE(WIFSIGNALED(train_in_child(folder.path / "killed", options, settings,
                                     begun ? ExistingRun::resume : ExistingRun::refuse)));
  CHECK_FALSE(read_training_summary(folder.path / "killed"));
  ToyTask task(undisturbed);
  const TrainingSummary summary =
      train_toy(folder.path / "killed", task, settings, ExistingRun::resume);
  CHECK(summary.consumed.steps == 60);
  CHECK(summary.validations.size() == 6);
  CHECK(lasting_metrics(folder.path / "killed") == lasting_metrics(folder.path / "whole"));
  for (const char* name : {"model.safetensors", "optimizer.safetensors"}) {
    CHECK(read_file(find_checkpoint(folder.path / "killed", "last") / name) ==
          read_file(find_checkpoint(folder.path / "whole", "last") / name));
  }
}

TEST_CASE("a run stopped by a signal saves, and goes on as if nothing had happened") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.log_every = {4, Period::Unit::steps};  // a window is open at the stop
  {
    ToyTask task;
    train_toy(folder.path / "whole", task, settings);
  }
  const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP, SIGPIPE);
  // Step 30, whose validation is due, and one between.
  const std::int64_t at = GENERATE(29, 37);
  {
    ToyTask task({.before_batch = [&](std::int64_t batch) {
      if (batch == at) ::raise(signal);
    }});
    const TrainingSummary stopped = train_toy(folder.path / "stopped", task, settings);
    CHECK(stopped.reason == StopReason::signal);
    CHECK(stopped.signal == signal);
    CHECK(stopped.consumed.steps == at + 1);
  }
  ToyTask task;
  train_toy(folder.path / "stopped", task, settings, ExistingRun::resume);
  CHECK(lasting_metrics(folder.path / "stopped") == lasting_metrics(folder.path / "whole"));
  CHECK(last_weights(folder.path / "stopped") == last_weights(folder.path / "whole"));
}

TEST_CASE("a signal is heard inside a step of many micro-batches, which is then made again") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.steps = {12, Period::Unit::steps};
  settings.accumulation = 8;
  settings.log_every = {4, Period::Unit::steps};
  settings.reduce = GENERATE(GradientReduction::fast, GradientReduction::deterministic);
  {
    ToyTask task;
    train_toy(folder.path / "whole", task, settings);
  }
  // Inside the first step, and inside the sixth.
  const std::int64_t step = GENERATE(0, 5);
  std::int64_t last_batch = 0;
  {
    ToyTask task({.before_batch = [&](std::int64_t batch) {
      if (batch == 8 * step + 2) ::raise(SIGTERM);
      last_batch = batch;
    }});
    const TrainingSummary stopped = train_toy(folder.path / "stopped", task, settings);
    CHECK(stopped.reason == StopReason::signal);
    CHECK(stopped.signal == SIGTERM);
    CHECK(stopped.consumed.steps == step);
    CHECK(last_batch == 8 * step + 2);
  }
  ToyTask task;
  train_toy(folder.path / "stopped", task, settings, ExistingRun::resume);
  CHECK(lasting_metrics(folder.path / "stopped") == lasting_metrics(folder.path / "whole"));
  CHECK(last_weights(folder.path / "stopped") == last_weights(folder.path / "whole"));
}

TEST_CASE("an overwritten run goes when a step of the new one has proved good, not before") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  const TrainingSettings settings = toy_settings();
  {
    ToyTask task;
    train_toy(path, task, settings);
  }
  const std::string old = last_weights(path);
  const std::int64_t fails_at = GENERATE(0, 1, 2);
  ToyTask task({.before_batch = [&](std::int64_t batch) {
    if (batch == fails_at) throw std::bad_alloc();
  }});
  CHECK_THROWS_AS(train_toy(path, task, settings, ExistingRun::overwrite), std::bad_alloc);
  if (fails_at < 2) {  // the loss of the second step is that of what the first did
    CHECK(last_weights(path) == old);
    CHECK(read_training_summary(path));
  } else {
    CHECK(list_checkpoints(path / "checkpoints").empty());
  }
}

TEST_CASE("the second signal leaves at once") {
  const TemporaryFolder folder;
  const ToyOptions options{.before_batch = [](std::int64_t batch) {
    if (batch == 5) ::raise(SIGINT);
    if (batch == 5) ::raise(SIGTERM);
  }};
  const int status =
      train_in_child(folder.path / "run", options, toy_settings(), ExistingRun::refuse);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 143);
  CHECK(list_checkpoints(folder.path / "run" / "checkpoints").empty());
}

TEST_CASE("a SIGTERM that is told twice at once is one request") {
  const TemporaryFolder folder;
  const ToyOptions options{.before_batch = [](std::int64_t batch) {
    if (batch != 5) return;
    for (const int signal : {SIGTERM, SIGTERM}) ::raise(signal);
  }};
  const int status =
      train_in_child(folder.path / "run", options, toy_settings(), ExistingRun::refuse);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 128 + SIGTERM);
  CHECK(list_checkpoints(folder.path / "run" / "checkpoints").size() == 1);
}

TEST_CASE("a terminal that is closed may say so more than once, and before it a stop may come") {
  const TemporaryFolder folder;
  const ToyOptions options{.before_batch = [](std::int64_t batch) {
    if (batch != 5) return;
    for (const int signal : {SIGHUP, SIGHUP, SIGPIPE}) ::raise(signal);
  }};
  const int status =
      train_in_child(folder.path / "run", options, toy_settings(), ExistingRun::refuse);
  REQUIRE(WIFEXITED(status));
  CHECK(list_checkpoints(folder.path / "run" / "checkpoints").size() == 1);
}

TEST_CASE("a session that ends asks once: its second signal is no second request") {
  const TemporaryFolder folder;
  const ToyOptions options{.before_batch = [](std::int64_t batch) {
    if (batch != 5) return;
    for (const int signal : {SIGHUP, SIGTERM}) ::raise(signal);
  }};
  const int status =
      train_in_child(folder.path / "run", options, toy_settings(), ExistingRun::refuse);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 128 + SIGHUP);
  CHECK(list_checkpoints(folder.path / "run" / "checkpoints").size() == 1);
}

TEST_CASE("a training under nohup goes on when the terminal is closed") {
  const TemporaryFolder folder;
  ::signal(SIGHUP, SIG_IGN);
  ToyTask task({.before_batch = [](std::int64_t batch) {
    if (batch == 5) ::raise(SIGHUP);
  }});
  CHECK(train_toy(folder.path / "run", task, toy_settings()).reason == StopReason::finished);
  ::signal(SIGHUP, SIG_DFL);
}

TEST_CASE("a validation that a signal stops is made where the run goes on") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  {
    ToyTask task;
    train_toy(folder.path / "whole", task, settings);
  }
  const std::int64_t stopped = GENERATE(1, 3, 6);  // the last is that of the end
  ToyOptions options;
  std::int64_t validations = 0;
  const std::unique_ptr<Processes> alone = make_single_process();
  options.validation_factor = [&] {
    if (++validations == stopped) {
      std::raise(SIGTERM);
      stop_validation_if_asked(*alone);
    }
    return 1.0;
  };
  ToyTask task(options);
  const TrainingSummary first = train_toy(folder.path / "run", task, settings);
  CHECK(first.reason == StopReason::signal);
  CHECK(first.consumed.steps == 10 * stopped);
  CHECK(std::ssize(first.validations) == stopped - 1);
  ToyTask again;
  const TrainingSummary summary =
      train_toy(folder.path / "run", again, settings, ExistingRun::resume);
  CHECK(summary.reason == StopReason::finished);
  CHECK(lasting_metrics(folder.path / "run") == lasting_metrics(folder.path / "whole"));
  CHECK(last_weights(folder.path / "run") == last_weights(folder.path / "whole"));
}

TEST_CASE("a finished run that kept no checkpoint is not trained again") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.keep_last = settings.keep_best = 0;
  {
    ToyTask task;
    train_toy(folder.path / "run", task, settings);
  }
  const auto metrics = lasting_metrics(folder.path / "run");
  ToyTask task;
  const TrainingSummary summary =
      train_toy(folder.path / "run", task, settings, ExistingRun::resume);
  CHECK(summary.consumed.steps == 60);
  CHECK(task.validations == 0);
  CHECK(lasting_metrics(folder.path / "run") == metrics);
}

TEST_CASE("a run that patience has ended is trained on only where more patience is asked for") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.keep_last = 0;
  settings.keep_best = 1;
  settings.patience = 2;
  double factor = 1;
  const ToyOptions worse{.validation_factor = [&] { return factor *= 100; }};
  ToyTask first(worse), again(worse), longer(worse);
  const TrainingSummary ended = train_toy(folder.path / "run", first, settings);
  REQUIRE(ended.reason == StopReason::patience);
  REQUIRE(ended.consumed.steps == 30);  // the best of three validations was the first
  CHECK(train_toy(folder.path / "run", again, settings, ExistingRun::resume).reason ==
        StopReason::patience);
  CHECK(again.validations == 0);
  settings.patience = 3;
  CHECK(train_toy(folder.path / "run", longer, settings, ExistingRun::resume).consumed.steps == 40);
}

}  // namespace roformer
