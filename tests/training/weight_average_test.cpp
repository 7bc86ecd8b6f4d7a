// The moving average of the weights: its formula, that training does not feel it, that it is
// stored, resumed, validated and ranked by.
#include "training/weight_average.h"

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "tensor/safetensors.h"
#include "training/checkpoint.h"
#include "training/on_ranks.h"
#include "training/toy_task.h"
#include "training/trainer.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

TrainingSummary train_toy(const fs::path& path, const TrainingSettings& settings,
                          ExistingRun existing = ExistingRun::refuse) {
  const RunDirectory run(path, existing);
  write_file_atomically(run.config(), "task: toy\n");
  ToyTask task;
  return train(task, {.settings = settings, .seed = 3, .run = run, .prefetch = {.threads = 0}});
}

TrainingSettings averaged(std::int64_t steps, double decay = 0.9) {
  TrainingSettings settings = toy_settings();
  settings.schedule = ScheduleKind::constant;
  settings.warmup = {};
  settings.steps = {static_cast<double>(steps), Period::Unit::steps};
  settings.ema = decay;
  return settings;
}

at::Tensor stored(const fs::path& run, const char* file) {
  return Safetensors(find_checkpoint(run, "last") / file).tensor("linear.weight");
}

}  // namespace

TEST_CASE("the average is its formula, and lends itself to the parameters") {
  ToyTask task;
  ParameterStore& parameters = task.parameters();
  at::Tensor weights = parameters.flat_values();
  WeightAverage average(parameters, 0.5);
  at::Tensor expected = weights.clone();
  CHECK(average_decay(0.5, 1) == Approx(2.0 / 11));
  CHECK(average_decay(0.5, 8) == Approx(0.5));
  CHECK(average_decay(0.999, 8) == Approx(0.5));
  CHECK(average_decay(0.999, 1'000'000) == Approx(0.999));
  for (std::int64_t step = 1; step <= 20; ++step) {
    const at::NoGradGuard no_gradient;
    weights.add_(at::full_like(weights, static_cast<double>(step)));
    average.update(step);
    const double decay =
        std::min(0.5, (1.0 + static_cast<double>(step)) / (10.0 + static_cast<double>(step)));
    expected = decay * expected + (1 - decay) * weights;
  }
  CHECK(at::allclose(average.values(), expected, 1e-5, 1e-5));
  const at::Tensor own = weights.clone(), first = parameters.all()[0].value.detach().clone();
  {
    const WeightAverage::Loan loan(average);
    CHECK(at::equal(parameters.flat_values(), average.values()));
    CHECK_FALSE(at::equal(parameters.all()[0].value, first));
  }
  CHECK(at::equal(parameters.flat_values(), own));
}

TEST_CASE("a training with an average trains as one without, and validates both") {
  const TemporaryFolder folder;
  TrainingSettings settings = averaged(40, 0.95);
  const TrainingSummary summary = train_toy(folder.path / "averaged", settings);
  settings.ema = 0;
  const TrainingSummary plain = train_toy(folder.path / "plain", settings);
  CHECK(at::equal(stored(folder.path / "averaged", "model.safetensors"),
                  stored(folder.path / "plain", "model.safetensors")));
  REQUIRE(summary.validations.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& figures = summary.validations[i].figures;
    CHECK(figures.at("loss") == plain.validations[i].figures.at("loss"));
    CHECK(figures.at("ema_loss") != figures.at("loss"));
    CHECK(summary.validations[i].ranking.figure == "loss");
  }
  // What is stored is what was validated.
  const fs::path last = find_checkpoint(folder.path / "averaged", "last");
  ToyTask task;
  load_parameters(weights_file(last, WeightsKind::ema), task.parameters());
  CHECK(task.validate(*make_single_process()).at("loss") ==
        summary.validations.back().figures.at("ema_loss"));
  CHECK_THROWS_WITH(weights_file(find_checkpoint(folder.path / "plain", "last"), WeightsKind::ema),
                    Catch::Contains("keeps no moving average") && Catch::Contains("training.ema"));
}

TEST_CASE("a training that is resumed has bitwise the average of one that was not") {
  const TemporaryFolder folder;
  train_toy(folder.path / "whole", averaged(40));
  train_toy(folder.path / "halves", averaged(17));
  train_toy(folder.path / "halves", averaged(40), ExistingRun::resume);
  for (const char* file : {"model.safetensors", "ema.safetensors"}) {
    CHECK(read_file(find_checkpoint(folder.path / "whole", "last") / file) ==
          read_file(find_checkpoint(folder.path / "halves", "last") / file));
  }
}

TEST_CASE("an average that is asked for later begins at the weights of the checkpoint") {
  const TemporaryFolder folder;
  const fs::path run = folder.path / "run";
  train_toy(run, averaged(20, 0));
  CHECK_FALSE(has_average(find_checkpoint(run, "last")));
  const at::Tensor before = stored(run, "model.safetensors");
  train_toy(run, averaged(21), ExistingRun::resume);
  const at::Tensor after = stored(run, "model.safetensors");
  const double decay = 22.0 / 31;
  CHECK(at::allclose(stored(run, "ema.safetensors"), decay * before + (1 - decay) * after, 1e-5,
                     1e-6));
  train_toy(run, averaged(22, 0), ExistingRun::resume);  // and is given up again
  CHECK_FALSE(has_average(find_checkpoint(run, "last")));
}

TEST_CASE("an average that was damaged is found out, and the checkpoint before is gone on from") {
  const TemporaryFolder folder;
  const fs::path run = folder.path / "run";
  TrainingSettings settings = averaged(21);
  settings.keep_last = 3;
  train_toy(run, settings);
  const std::string whole = read_file(find_checkpoint(run, "last") / "ema.safetensors");
  const fs::path file = find_checkpoint(run, "last") / "ema.safetensors";
  SECTION("in a bit") {
    std::string contents = whole;
    contents[contents.size() - 2] = static_cast<char>(contents[contents.size() - 2] ^ 4);
    write_file_atomically(file, contents);
  }
  SECTION("as a whole") {
    fs::remove(file);
  }
  train_toy(run, settings, ExistingRun::resume);
  CHECK(read_file(find_checkpoint(run, "last") / "ema.safetensors") == whole);
}

TEST_CASE("checkpoints are ranked by the figure of the weights that the run names") {
  const TemporaryFolder folder;
  TrainingSettings settings = averaged(60, 0.99);
  settings.weights = WeightsKind::ema;
  const TrainingSummary summary = train_toy(folder.path / "run", settings);
  const auto best = std::ranges::min_element(
      summary.validations, {},
      [](const ValidationRecord& record) { return record.figures.at("ema_loss"); });
  CHECK(summary.best()->ranking.figure == "ema_loss");
  CHECK(summary.best()->step == best->step);
}

namespace {

constexpr std::chrono::milliseconds kAverageTimeout{20'000};

// Some updates; what the whole average is then, and after it was stored and read by as many
// processes, in parts or not.
struct Averaged {
  at::Tensor values, restored, lent;
};

Averaged average_of(Processes& processes, bool in_parts) {
  ToyTask task({.width = 5 * FlatParts::kPiece / 2});  // parts of several pieces
  ParameterStore& parameters = task.parameters();
  const auto make = [&] { return WeightAverage(parameters, 0.9, in_parts ? &processes : nullptr); };
  WeightAverage average = make();
  const at::NoGradGuard no_gradient;
  at::Tensor weights = parameters.flat_values();
  const at::Tensor ramp = at::arange(weights.numel(), weights.options()).mul_(1e-4);
  for (std::int64_t step = 1; step <= 5; ++step) {
    weights.mul_(0.7).add_(ramp, static_cast<double>(step));
    average.update(step);
  }
  Averaged result{.values = average.values()};
  WeightAverage other = make();
  other.restore(result.values, processes);
  result.restored = other.values();
  const at::Tensor own = weights.clone();
  {
    const WeightAverage::Loan loan(other);
    result.lent = weights.clone();
  }
  if (!at::equal(weights, own)) throw std::runtime_error("the weights are not what they were");
  return result;
}

}  // namespace

TEST_CASE("an average in parts is that of one process, bit by bit") {
  const Averaged whole = average_of(*make_single_process(), false);
  CHECK(at::equal(whole.values, whole.restored));
  CHECK(at::equal(average_of(*make_single_process(), true).values, whole.values));
  for (const std::int64_t count : {2, 3}) {
    std::vector<Averaged> all(static_cast<std::size_t>(count));
    const auto problems = on_ranks(count, kAverageTimeout, [&](Processes& processes) {
      all[static_cast<std::size_t>(processes.rank())] = average_of(processes, true);
    });
    CHECK(problems == std::vector<std::string>(static_cast<std::size_t>(count)));
    CHECK(at::equal(all[0].values, whole.values));
    CHECK(at::equal(all[0].restored, whole.values));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      CHECK(at::equal(all[rank].lent, whole.lent));
      CHECK(all[rank].values.defined() == (rank == 0));
    }
  }
}

}  // namespace roformer
