#include "training/schedule.h"

#include <csignal>

#include "base/file.h"
#include "catch.h"
#include "report/json_lines.h"
#include "temporary_folder.h"
#include "training/checkpoint.h"
#include "training/toy_task.h"
#include "training/trainer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

const std::vector<StageSettings> kStages = {
    {.steps = 10, .accumulation = 2},
    {.steps = 5, .accumulation = 1, .learning_rate = 0.01, .warmup = 4},
    {.steps = 15, .accumulation = 3}};

// Each stage has different rows: batch n of stage s is batch 1000 s + n of the plain task.
class StagedToy : public ToyTask {
 public:
  using ToyTask::ToyTask;
  std::unique_ptr<TrainingBatch> make_batch_of(std::int64_t stage,
                                               std::int64_t number) const override {
    return make_batch(1000 * stage + number);
  }
  double batches_per_epoch_of(std::int64_t stage) const override { return stage == 1 ? 5 : 10; }
};

TrainingSettings staged_settings() {
  TrainingSettings settings = toy_settings();
  settings.steps = {30, Period::Unit::steps};
  settings.validate_every = {0, Period::Unit::steps};
  return settings;
}

TrainingSummary train_staged(const fs::path& path, StagedToy& task, ExistingRun existing) {
  const TrainingSettings settings = staged_settings();
  const RunDirectory run(path, existing);
  write_file_atomically(run.config(), "task: toy\n");
  return train(task, {.settings = settings,
                      .stages = kStages,
                      .seed = 3,
                      .run = run,
                      .prefetch = {.threads = 2, .depth = 7}});
}

}  // namespace

TEST_CASE("processes divide the micro-batches of a stage where they do not go round") {
  TrainingSettings settings;
  const std::vector<StageSettings> stages = {{.steps = 3, .accumulation = 1},
                                             {.steps = 5, .accumulation = 2}};
  for (const std::int64_t rank : {0, 1}) {
    const StagePlan plan(settings, stages, share_of_step(1, rank, 2));
    CHECK(plan.numbers(0).parts == 2);
    CHECK(plan.numbers(3).parts == 1);
    std::vector<std::int64_t> stage, number, parts;
    for (std::int64_t i = 0; i < 6; ++i) {
      const auto [batch, part] = plan.of_pass(1, i);  // from the second step on
      stage.push_back(batch.stage);
      number.push_back(batch.number);
      parts.push_back(part.count);
      CHECK(part.index == (part.whole() ? 0 : rank));
    }
    CHECK(stage == std::vector<std::int64_t>{0, 0, 1, 1, 1, 1});
    CHECK(number == std::vector<std::int64_t>{1, 2, rank, 2 + rank, 4 + rank, 6 + rank});
    CHECK(parts == std::vector<std::int64_t>{2, 2, 1, 1, 1, 1});
    CHECK(plan.of_pass(5, 0).batch.number == 2 + rank);
  }
}

TEST_CASE("steps and batches are found in their stages, across processes, too") {
  TrainingSettings settings;
  settings.learning_rate = 0.1;
  settings.accumulation = 4;
  const BatchNumbers numbers{.accumulation = 2, .rank = 1, .processes = 2};
  const std::vector<StageSettings> stages = {{.steps = 10}, {.steps = 5, .accumulation = 2}};
  const StagePlan plan(settings, stages, numbers);
  CHECK(plan.stages() == 2);
  CHECK(plan.stage_of_step(9) == 0);
  CHECK(plan.stage_of_step(10) == 1);
  CHECK(plan.stage_of_step(100) == 1);
  CHECK(plan.numbers(0).per_step() == 4);
  CHECK(plan.numbers(10).per_step() == 2);
  CHECK(plan.numbers(10).accumulation == 1);
  CHECK(plan.of_batch(39).stage == 0);
  CHECK(plan.of_batch(40).stage == 1);
  CHECK(plan.of_batch(43).number == 3);
  CHECK(plan.ends_stage(10));
  CHECK(plan.ends_stage(15));
  CHECK_FALSE(plan.ends_stage(0));
  CHECK_FALSE(plan.ends_stage(11));
  const StagePlan none(settings, {}, numbers);
  CHECK(none.stages() == 0);
  CHECK(none.of_batch(1'000'000).number == 1'000'000);
  CHECK_FALSE(none.ends_stage(1));
  CHECK(none.peak_rate(7) == 0.1);
}

TEST_CASE("a stage has its rate, its warm-up and its batches, and is validated at its end") {
  const TemporaryFolder folder;
  StagedToy task;
  train_staged(folder.path / "run", task, ExistingRun::refuse);
  std::vector<std::int64_t> validated;
  std::vector<nlohmann::json> steps;
  for (const nlohmann::json& line : read_json_lines(folder.path / "run" / "metrics.jsonl")) {
    if (line["kind"] == "validation") {
      validated.push_back(line["step"]);
    } else {
      steps.push_back(line);
    }
  }
  CHECK(validated == std::vector<std::int64_t>{10, 15, 30});
  REQUIRE(steps.size() == 30);
  CHECK(steps[9]["stage"] == 1);
  CHECK(steps[10]["stage"] == 2);
  CHECK(steps[29]["stage"] == 3);
  CHECK(steps[9]["tokens"] == 10 * 2 * 40);
  CHECK(steps[14]["tokens"] == 10 * 2 * 40 + 5 * 40);
  CHECK(steps[29]["tokens"] == 10 * 2 * 40 + 5 * 40 + 15 * 3 * 40);
  CHECK(steps[9]["epochs"].get<double>() == Approx(2));
  CHECK(steps[14]["epochs"].get<double>() == Approx(3));
  CHECK(steps[29]["epochs"].get<double>() == Approx(7.5));
  // The whole training's schedule times the stage's peak, which rises in four steps.
  const auto rate = [&](std::size_t step) { return steps[step]["learning_rate"].get<double>(); };
  CHECK(rate(10) / rate(13) == Approx(0.25 * (20 / 17.0)).epsilon(0.01));
  CHECK(rate(15) / rate(14) == Approx(2 * (15 / 16.0)).epsilon(0.01));
}

TEST_CASE("a training in stages goes on inside any of them as if it had not stopped") {
  const TemporaryFolder folder;
  StagedToy whole;
  train_staged(folder.path / "whole", whole, ExistingRun::refuse);
  for (const std::int64_t stop : {3, 10, 12, 15, 22}) {
    CAPTURE(stop);
    const fs::path path = folder.path / std::to_string(stop);
    std::int64_t batches = 0;
    StagedToy stopped({.before_batch = [&](std::int64_t) {
      if (++batches == 2 * stop) std::raise(SIGTERM);
    }});
    // One batch at a time, so that the signal comes where it should.
    const TrainingSettings settings = staged_settings();
    {
      const RunDirectory run(path, ExistingRun::refuse);
      write_file_atomically(run.config(), "task: toy\n");
      train(stopped, {.settings = settings,
                      .stages = kStages,
                      .seed = 3,
                      .run = run,
                      .prefetch = {.threads = 0}});
    }
    CHECK(read_json_lines(path / "metrics.jsonl").size() <
          read_json_lines(folder.path / "whole" / "metrics.jsonl").size());
    StagedToy resumed;
    train_staged(path, resumed, ExistingRun::resume);
    CHECK(lasting_metrics(path) == lasting_metrics(folder.path / "whole"));
    CHECK(read_file(find_checkpoint(path, "last") / "model.safetensors") ==
          read_file(find_checkpoint(folder.path / "whole", "last") / "model.safetensors"));
  }
}

}  // namespace roformer
