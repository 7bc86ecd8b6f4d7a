#include "runs/memory_estimate.h"

#include <c10/util/Flags.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "catch.h"
#include "data/dataset.h"
#include "has.h"
#include "runs/run_settings.h"
#include "runs/tiny_run.h"
#include "tasks/language/language_model.h"
#include "tasks/task_definition.h"
#include "tensor/profile.h"
#include "training/training_step.h"

C10_DECLARE_bool(caffe2_use_fatal_for_enforce);

using namespace roformer;

TEST_CASE("the memory of a step is estimated within a factor of two") {
  const auto sizes =
      GENERATE(std::vector<Override>{},
               std::vector<Override>{
                   {"model.width", "128"}, {"model.feed_forward", "512"}, {"model.layers", "3"}});
  std::vector<Override> overrides = {{"training.batch", "64"}};
  overrides.insert(overrides.end(), sizes.begin(), sizes.end());
  const TinyRun run("rope", overrides);
  const ComputePlan plan;
  const OpenedTask opened = open_task({.settings = run.settings, .plan = plan});
  TrainingTask& task = *opened.task;
  Optimizer optimizer(task.parameters(), {});
  const auto step = [&] {
    std::vector<std::unique_ptr<TrainingBatch>> batches;
    batches.push_back(task.make_batch(0));
    take_training_step(task, optimizer, std::move(batches), {.learning_rate = 1e-3});
  };
  step();
  const MemoryMeter meter;
  step();
  const MemoryEstimate estimate =
      estimate_memory(run.settings, task.parameters().count(), task.tokens_per_batch(), plan);
  CAPTURE(meter.peak(), estimate.activations);
  CHECK(static_cast<double>(estimate.activations) > 0.5 * static_cast<double>(meter.peak()));
  CHECK(static_cast<double>(estimate.activations) < 2.0 * static_cast<double>(meter.peak()));
}

TEST_CASE("the estimate has one moment of Muon's matrices") {
  const TinyRun run("rope", {{"training.optimizer", "muon"}});
  const ComputePlan plan;
  const OpenedTask opened = open_task({.settings = run.settings, .plan = plan});
  const ParameterStore& parameters = opened.task->parameters();
  const std::int64_t matrices = numbers_of_muon(run.settings.training, parameters);
  CHECK(matrices == 2 * (4 * 32 * 32 + 2 * 32 * 64));  // layers, width 32, inner width 64
  CHECK(numbers_of_muon({}, parameters) == 0);
  const auto state = [&](std::int64_t of_muon) {
    return estimate_memory(run.settings, parameters.count(), 128, plan, 1, of_muon).state();
  };
  CHECK(state(0) - state(matrices) == 4 * static_cast<std::uint64_t>(matrices));
}

TEST_CASE("a training that takes more than the free memory is refused") {
  const TinyRun run("rope");
  Settings large = run.settings;
  large.training.batch = 1'000'000'000;  // a hundred TiB of activations
  CHECK_THROWS_WITH(train_run(large, ExistingRun::refuse),
                    Catch::Contains("the training takes about ") && Catch::Contains(" are free") &&
                        Catch::Contains("--training.exceed_memory true"));
  CHECK_FALSE(is_run(run.run()));  // its name is free again
}

// libsentencepiece and libc10 share a symbol (text/sentencepiece_model.cpp).
TEST_CASE("no library writes over LibTorch's flags") {
  CHECK_FALSE(FLAGS_caffe2_use_fatal_for_enforce);
}

TEST_CASE("a batch that does not fit is one line with an estimate, and the old run stays") {
  const TinyRun run("rope");
  train_run(run.settings, ExistingRun::refuse);
  Settings large = run.settings;
  large.training.batch = 20'000;  // 2.4 GiB of activations
  const pid_t child = ::fork();
  if (child == 0) {
    std::int64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const auto now = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE));
    const rlimit limit{.rlim_cur = now + (400 << 20), .rlim_max = RLIM_INFINITY};
    ::setrlimit(RLIMIT_AS, &limit);
    try {
      train_run(large, ExistingRun::overwrite);
    } catch (const Error& error) {
      const std::string text = error.what();
      const bool good = has(text, "not enough memory") && has(text, "the training takes about ") &&
                        has(text, "--training.batch (20000 now)") && !has(text, "\n");
      ::_exit(good ? 0 : 1);
    } catch (...) {
      ::_exit(2);
    }
    ::_exit(3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(std::filesystem::exists(run.run() / "checkpoints" / "step-00000003"));
  CHECK(read_run_settings(run.run()).training.batch == run.settings.training.batch);
}
