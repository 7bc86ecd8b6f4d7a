#include "training/trainer.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "catch.h"
#include "has.h"
#include "in_terminal.h"
#include "report/json_lines.h"
#include "temporary_folder.h"
#include "training/checkpoint.h"
#include "training/toy_training.h"

namespace roformer {
namespace fs = std::filesystem;

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

TEST_CASE("the live line has a rate after each line of metrics, too") {
  if (!terminals_exist()) {
    WARN("not run: no pseudo-terminals here");
    return;
  }
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
  CHECK(has(shown, "/30  loss "));
  CHECK(has(shown, "  ETA "));
  CHECK(has(shown, " MiB"));
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

TEST_CASE("a training in minutes begins its warm-up at the beginning") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.warmup = {};
  settings.warmup_ratio = 0.5;
  settings.steps = {100.0 / 60'000, Period::Unit::minutes};
  settings.log_every = {1, Period::Unit::steps};
  settings.validate_every = settings.save_every = {};
  ToyTask task({.before_batch = [](std::int64_t) { ::usleep(1500); }});
  train_toy(folder.path / "run", task, settings);
  const auto lines = lasting_metrics(folder.path / "run");
  REQUIRE(lines.front()["kind"] == "training");
  CHECK(lines.front()["learning_rate"].get<double>() < 0.2 * settings.learning_rate);
}

TEST_CASE("a step without targets changes nothing and is no sign of anything") {
  const TemporaryFolder folder;
  TrainingSettings settings = toy_settings();
  settings.max_bad_steps = 3;
  settings.log_every = {1, Period::Unit::steps};
  std::vector<at::Tensor> weights;
  ToyTask* watched = nullptr;
  ToyTask task(
      {.before_batch =
           [&](std::int64_t) { weights.push_back(watched->parameters().flat_values().clone()); },
       .has_targets = [](std::int64_t batch) { return batch < 10 || batch >= 20; }});
  watched = &task;
  const TrainingSummary summary = train_toy(folder.path / "run", task, settings);
  CHECK(summary.reason == StopReason::finished);
  CHECK(summary.skipped_steps == 0);
  CHECK(weights[10].equal(weights[20]));
  CHECK_FALSE(weights[20].equal(weights[21]));
  for (const nlohmann::json& line : lasting_metrics(folder.path / "run")) {
    if (line["kind"] == "training")
      CHECK(line["loss"].is_null() == (line["step"] > 10 && line["step"] <= 20));
  }
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

}  // namespace roformer
