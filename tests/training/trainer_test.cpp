#include "training/trainer.h"

#include <ATen/Parallel.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <limits>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "has.h"
#include "in_terminal.h"
#include "report/json_lines.h"
#include "said.h"
#include "temporary_folder.h"
#include "training/checkpoint.h"
#include "training/toy_task.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::uint64_t kSeed = 3;

TrainingSummary train_toy(const fs::path& path, ToyTask& task, const TrainingSettings& settings,
                          ExistingRun existing = ExistingRun::refuse) {
  const RunDirectory run(path, existing);
  write_file_atomically(run.config(), "task: toy\n");
  return train(task, {.settings = settings, .seed = kSeed, .run = run, .prefetch = {.threads = 0}});
}

std::string last_weights(const fs::path& run) {
  return read_file(find_checkpoint(run, "last") / "model.safetensors");
}

// Runs a training in a process of its own and returns how that ended (waitpid's status). Threads
// do not survive a fork, hence one thread.
int train_in_child(const fs::path& path, const ToyOptions& options,
                   const TrainingSettings& settings, ExistingRun existing) {
  const pid_t child = ::fork();
  if (child == 0) {
    at::set_num_threads(1);
    try {
      ToyTask task(options);
      const TrainingSummary summary = train_toy(path, task, settings, existing);
      ::_exit(summary.signal == 0 ? 0 : 128 + summary.signal);
    } catch (const Error& error) {
      ::_exit(std::string(error.what()).find("cannot write") == std::string::npos ? 98 : 97);
    } catch (...) {
      ::_exit(99);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

}  // namespace

TEST_CASE("a training learns, and leaves all that the design says") {
  const TemporaryFolder folder;
  ToyTask task;
  const TrainingSummary summary = train_toy(folder.path / "run", task, toy_settings());
  CHECK(summary.reason == StopReason::finished);
  CHECK(summary.consumed.steps == 60);
  CHECK(summary.consumed.tokens == 60 * 40);
  CHECK(summary.consumed.epochs == Approx(6));
  CHECK(summary.parameters == 9);
  REQUIRE(summary.validations.size() == 6);
  CHECK(summary.validations.back().ranked() < 0.7 * summary.validations.front().ranked());
  CHECK(summary.tokens_per_second > 0);
  CHECK(lasting_metrics(folder.path / "run").size() == 66);
  const fs::path last = find_checkpoint(folder.path / "run", "last");
  CHECK(last.filename() == "step-00000060");
  for (const char* name :
       {"model.safetensors", "optimizer.safetensors", "state.json", "config.yaml"}) {
    CHECK(fs::exists(last / name));
  }
  const auto read = read_training_summary(folder.path / "run");
  REQUIRE(read);
  CHECK(to_json(*read) == to_json(summary));
}

TEST_CASE("a run that was killed goes on as if nothing had happened") {
  const TemporaryFolder folder;
  const TrainingSettings settings = toy_settings();
  {
    ToyTask task;
    train_toy(folder.path / "whole", task, settings);
  }
  const auto kill = [] { ::kill(::getpid(), SIGKILL); };
  ToyOptions options;
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
  ToyTask task;
  const TrainingSummary summary =
      train_toy(folder.path / "killed", task, settings, ExistingRun::resume);
  CHECK(summary.consumed.steps == 60);
  CHECK(summary.validations.size() == 6);
  CHECK(lasting_metrics(folder.path / "killed") == lasting_metrics(folder.path / "whole"));
  CHECK(last_weights(folder.path / "killed") == last_weights(folder.path / "whole"));
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

TEST_CASE("an overwritten run goes with the first good step of the new one, not before") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  const TrainingSettings settings = toy_settings();
  {
    ToyTask task;
    train_toy(path, task, settings);
  }
  const std::string old = last_weights(path);
  const std::int64_t fails_at = GENERATE(0, 1);
  ToyTask task({.before_batch = [&](std::int64_t batch) {
    if (batch == fails_at) throw std::bad_alloc();
  }});
  CHECK_THROWS_AS(train_toy(path, task, settings, ExistingRun::overwrite), std::bad_alloc);
  if (fails_at == 0) {
    CHECK(last_weights(path) == old);
    CHECK(read_training_summary(path));
  } else {
    CHECK(list_checkpoints(path / "checkpoints").empty());
  }
}

TEST_CASE("the live line has a rate after each line of metrics, too") {
  const TemporaryFolder folder;
  const std::string shown = in_terminal(200, [&] {
    at::set_num_threads(1);
    ToyTask task({.before_batch = [](std::int64_t) { ::usleep(40'000); }});
    TrainingSettings settings = toy_settings();  // a line of metrics after every step
    settings.steps = {30, Period::Unit::steps};
    train_toy(folder.path / "run", task, settings);
  });
  CHECK(has(shown, "tokens/s"));
  CHECK(!has(shown, " 0 tokens/s"));
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

TEST_CASE("a training under nohup goes on when the terminal is closed") {
  const TemporaryFolder folder;
  ::signal(SIGHUP, SIG_IGN);
  ToyTask task({.before_batch = [](std::int64_t batch) {
    if (batch == 5) ::raise(SIGHUP);
  }});
  CHECK(train_toy(folder.path / "run", task, toy_settings()).reason == StopReason::finished);
  ::signal(SIGHUP, SIG_DFL);
}

TEST_CASE("a damaged checkpoint is set aside and the one before is gone on from") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.keep_last = 3;
  {
    ToyTask task;
    train_toy(folder.path / "run", task, settings);
  }
  const auto weights = last_weights(folder.path / "run");
  const fs::path last = find_checkpoint(folder.path / "run", "last");
  const std::string name = GENERATE("model.safetensors", "optimizer.safetensors", "state.json");
  std::string contents = read_file(last / name);
  if (name == "state.json") {  // well formed, of the right types, and wrong
    contents.replace(contents.find("\"tokens\": "), 11, "\"tokens\": 1");
  } else {
    contents[contents.size() - 2] = static_cast<char>(contents[contents.size() - 2] ^ 4);
  }
  write_file_atomically(last / name, contents);
  ToyTask task;
  train_toy(folder.path / "run", task, settings, ExistingRun::resume);
  CHECK(fs::exists(last.string() + ".damaged"));
  CHECK(last_weights(folder.path / "run") == weights);
}

TEST_CASE("four micro-batches of one row are one of four rows") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  ToyTask whole({.rows = 4, .dropout = false});
  ToyTask split({.rows = 1, .dropout = false});
  train_toy(folder.path / "whole", whole, settings);
  settings.accumulation = 4;
  train_toy(folder.path / "split", split, settings);
  CHECK(
      at::allclose(whole.parameters().flat_values(), split.parameters().flat_values(), 1e-4, 1e-6));
  const auto a = lasting_metrics(folder.path / "whole");
  const auto b = lasting_metrics(folder.path / "split");
  CHECK(a.back()["validation_loss"].get<double>() ==
        Approx(b.back()["validation_loss"].get<double>()).epsilon(1e-5));
  CHECK(a.front()["loss"].get<double>() == Approx(b.front()["loss"].get<double>()).epsilon(1e-5));
}

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

TEST_CASE("a training can be as long as epochs or tokens, and the same") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  ToyTask by_steps;
  train_toy(folder.path / "steps", by_steps, settings);
  settings.steps = {6, Period::Unit::epochs};
  ToyTask by_epochs;
  CHECK(train_toy(folder.path / "epochs", by_epochs, settings).consumed.steps == 60);
  settings.steps = {2400, Period::Unit::tokens};
  ToyTask by_tokens;
  CHECK(train_toy(folder.path / "tokens", by_tokens, settings).consumed.steps == 60);
  CHECK(at::allclose(by_steps.parameters().flat_values(), by_epochs.parameters().flat_values()));
  CHECK(at::allclose(by_steps.parameters().flat_values(), by_tokens.parameters().flat_values()));
}

TEST_CASE("every period in every unit fires in its rhythm, and the end is validated") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.warmup = {};
  settings.keep_last = 1000;
  const auto train_with = [&](const std::string& name) {
    // Each step takes at least a millisecond and a half, so that minutes are steps, too.
    ToyTask task({.before_batch = [](std::int64_t) { ::usleep(1500); }});
    return train_toy(folder.path / name, task, settings);
  };
  const auto count = [&](const std::string& name, const std::string& kind) {
    const auto lines = lasting_metrics(folder.path / name);
    return std::count_if(lines.begin(), lines.end(),
                         [&](const nlohmann::json& line) { return line["kind"] == kind; });
  };
  // One epoch is 10 steps, a step 40 tokens.
  for (const auto& [name, one] : {std::pair{"steps", Period{1, Period::Unit::steps}},
                                  {"epochs", Period{0.1, Period::Unit::epochs}},
                                  {"tokens", Period{40, Period::Unit::tokens}}}) {
    CAPTURE(name);
    const auto times = [&](double factor) { return Period{one.amount * factor, one.unit}; };
    settings.steps = times(22);
    settings.log_every = times(2);
    settings.validate_every = times(5);
    settings.save_every = times(11);
    CHECK(train_with(name).consumed.steps == 22);
    CHECK(count(name, "training") == 11);
    CHECK(count(name, "validation") == 5);  // 4 and the end
    // 11, 22 and what was the best so far: the toy learns at each validation.
    CHECK(fs::exists(folder.path / name / "checkpoints" / "step-00000011"));
    CHECK(find_checkpoint(folder.path / name, "last").filename() == "step-00000022");
  }
  const auto minutes = [](double milliseconds) {
    return Period{milliseconds / 60'000, Period::Unit::minutes};
  };
  settings.steps = minutes(200);
  settings.log_every = minutes(20);
  settings.validate_every = minutes(50);
  settings.save_every = minutes(40);
  const TrainingSummary summary = train_with("minutes");
  CHECK(summary.consumed.minutes >= 200.0 / 60'000);
  // A step that takes long may cross two at once.
  CHECK(count("minutes", "training") >= 4);
  CHECK(count("minutes", "training") <= 11);
  CHECK(count("minutes", "validation") >= 2);
  CHECK(count("minutes", "validation") <= 5);
  CHECK(list_checkpoints(folder.path / "minutes" / "checkpoints").size() >= 3);
  REQUIRE_FALSE(summary.validations.empty());
  CHECK(summary.validations.back().step == summary.consumed.steps);
  CHECK(summary.tokens_per_second > 0);
}

TEST_CASE("a training without periods is logged, validated and saved at its end") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.warmup = {};
  settings.log_every = settings.validate_every = settings.save_every = {};
  settings.steps =
      GENERATE(Period{12, Period::Unit::steps}, Period{30.0 / 60'000, Period::Unit::minutes});
  ToyTask task({.before_batch = [](std::int64_t) { ::usleep(1000); }});
  const TrainingSummary summary = train_toy(folder.path / "run", task, settings);
  REQUIRE(summary.validations.size() == 1);
  CHECK(summary.validations.back().step == summary.consumed.steps);
  CHECK(lasting_metrics(folder.path / "run").size() == 2);
  CHECK(list_checkpoints(folder.path / "run" / "checkpoints").size() == 1);
}

TEST_CASE("threads that make batches ahead change nothing") {
  const TemporaryFolder folder;
  const TrainingSettings settings = toy_settings();
  ToyTask alone, ahead;
  train_toy(folder.path / "alone", alone, settings);
  {
    const RunDirectory run(folder.path / "ahead", ExistingRun::refuse);
    train(
        ahead,
        {.settings = settings, .seed = kSeed, .run = run, .prefetch = {.threads = 3, .depth = 5}});
  }
  CHECK(lasting_metrics(folder.path / "ahead") == lasting_metrics(folder.path / "alone"));
  CHECK(last_weights(folder.path / "ahead") == last_weights(folder.path / "alone"));
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
  CHECK_FALSE(read_training_summary(path));
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
    CHECK_FALSE(read_training_summary(path));
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
  CHECK_FALSE(fs::exists(path / "checkpoints" / "step-00000014"));
  CHECK(find_checkpoint(path, "last").filename() == "step-00000035");
  ToyTask again;
  CHECK(train_toy(path, again, settings, ExistingRun::resume).consumed.steps == 60);
}

TEST_CASE("patience ends a training that no longer improves, and a resumption knows it") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.steps = {10'000, Period::Unit::steps};
  settings.learning_rate = 0.2;
  settings.schedule = ScheduleKind::constant;
  settings.patience = 3;
  ToyTask task;
  const TrainingSummary summary = train_toy(folder.path / "run", task, settings);
  CHECK(summary.reason == StopReason::patience);
  REQUIRE(summary.best() != nullptr);
  CHECK(summary.best()->step == summary.consumed.steps - 30);
  CHECK(find_checkpoint(folder.path / "run")
            .filename()
            .string()
            .ends_with(std::to_string(summary.best()->step)));
  ToyTask again;
  const TrainingSummary resumed =
      train_toy(folder.path / "run", again, settings, ExistingRun::resume);
  CHECK(resumed.reason == StopReason::patience);
  CHECK(resumed.consumed.steps == summary.consumed.steps);
}

TEST_CASE("a damaged checkpoint is set aside and the one before it used") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.keep_last = 2;
  ToyTask task;
  train_toy(folder.path / "run", task, settings);
  const std::string whole = last_weights(folder.path / "run");
  const fs::path last = find_checkpoint(folder.path / "run", "last");
  fs::resize_file(last / "optimizer.safetensors", 100);
  ToyTask again;
  train_toy(folder.path / "run", again, settings, ExistingRun::resume);
  CHECK(fs::exists(last.string() + ".damaged"));
  CHECK(last_weights(folder.path / "run") == whole);
}

TEST_CASE("a checkpoint that the system does not let us read is left as it is") {
  const TemporaryFolder folder;
  ToyTask task;
  train_toy(folder.path / "run", task, toy_settings());
  const fs::path last = find_checkpoint(folder.path / "run", "last");
  const std::string name = GENERATE("state.json", "manifest.json", "optimizer.safetensors");
  fs::remove(last / name);
  fs::create_symlink(name, last / name);  // a link to itself cannot be opened
  ToyTask again;
  CHECK_THROWS_AS(train_toy(folder.path / "run", again, toy_settings(), ExistingRun::resume),
                  ReadError);
  CHECK(fs::exists(last));
  CHECK(!fs::exists(last.string() + ".damaged"));
}

TEST_CASE("checkpoints that do not fit are refused and kept") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  TrainingSettings settings = toy_settings();
  settings.keep_last = 2;
  ToyTask task;
  train_toy(path, task, settings);
  const auto checkpoints = list_checkpoints(path / "checkpoints");
  REQUIRE(checkpoints.size() >= 2);
  ToyTask wider({.width = 9});
  CHECK_THROWS_WITH(train_toy(path, wider, settings, ExistingRun::resume),
                    Catch::Contains("has the shape [1, 8], this model's has [1, 9]"));
  {
    ToyTask again;
    const RunDirectory run(path, ExistingRun::resume);
    CHECK_THROWS_WITH(train(again, {.settings = settings, .seed = kSeed + 1, .run = run}),
                      Catch::Contains("was made with seed 3, not 4"));
  }
  CHECK(list_checkpoints(path / "checkpoints") == checkpoints);
}

TEST_CASE("a full disk while saving costs no checkpoint") {
  const TemporaryFolder folder;
  const TrainingSettings settings = toy_settings();
  const ToyOptions options{.before_batch = [](std::int64_t batch) {
    if (batch != 16) return;
    // No file may grow any more: what a full disk does, as far as a process can see.
    std::signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit { .rlim_cur = 0, .rlim_max = 0 };
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }};
  const int status = train_in_child(folder.path / "run", options, settings, ExistingRun::refuse);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 97);
  const auto checkpoints = list_checkpoints(folder.path / "run" / "checkpoints");
  REQUIRE_FALSE(checkpoints.empty());
  CHECK(checkpoints.back().filename() == "step-00000014");
  ToyTask task;
  CHECK(train_toy(folder.path / "run", task, settings, ExistingRun::resume).consumed.steps == 60);
}

}  // namespace roformer
