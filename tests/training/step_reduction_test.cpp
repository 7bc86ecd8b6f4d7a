#include "training/step_reduction.h"

#include <mutex>

#include "catch.h"
#include "tensor/dispatch.h"
#include "tensor/gpu/emulation.h"
#include "training/on_ranks.h"
#include "training/toy_task.h"
#include "training/training_step.h"

namespace roformer {
namespace {

constexpr std::chrono::milliseconds kTimeout{20'000};
// Wide enough for parts of several pieces.
const ToyOptions kWide = {.width = 5 * FlatParts::kPiece / 2};

struct Trained {
  at::Tensor values, first_moments, second_moments;
  std::vector<double> losses;
};

struct TrainedSettings {
  std::int64_t micro_batches = 4;
  GradientReduction order = GradientReduction::fast;
  bool in_parts = false;
  std::int64_t bucket = 50'000;  // several
  bool muon = false;
  bool composed = false;  // the form of the optimiser
  std::int64_t width = kWide.width;
};

// Three steps of the toy task; what the first process has at the end.
Trained train_steps(Processes& processes, const TrainedSettings& settings) {
  std::optional<ComposedForms> composed;
  if (settings.composed) composed.emplace();
  ToyOptions toy{.width = settings.width};
  OptimizerOptions options;
  if (settings.muon) {
    toy.hidden = 24;  // two matrices, each in several parts
    options.muon = MuonOptions();
  }
  ToyTask task(toy);
  Optimizer optimizer(task.parameters(), options, settings.in_parts ? &processes : nullptr);
  const auto reduction = make_step_reduction(
      processes, task.parameters(),
      {.order = settings.order, .in_parts = settings.in_parts, .bucket = settings.bucket});
  const BatchNumbers numbers{.accumulation = settings.micro_batches / processes.count(),
                             .rank = processes.rank(),
                             .processes = processes.count()};
  Trained trained;
  for (std::int64_t step = 0; step < 3; ++step) {
    std::vector<std::unique_ptr<TrainingBatch>> batches;
    for (std::int64_t i = 0; i < numbers.accumulation; ++i) {
      batches.push_back(task.make_batch(numbers.number(step * numbers.per_step(), i)));
    }
    const StepResult result = take_training_step(
        task, optimizer, std::move(batches),
        {.step = step, .seed = 3, .numbers = numbers, .learning_rate = 0.01, .clip = 1},
        reduction.get());
    if (result.sums.targets != 4 * settings.micro_batches) throw std::runtime_error("targets");
    trained.losses.push_back(result.sums.loss.item<double>());
  }
  const Moments moments = optimizer.moments();
  trained.values = task.parameters().flat_values().clone();
  if (processes.first()) {
    trained.first_moments = moments.first.clone();
    trained.second_moments = moments.second.clone();
  }
  return trained;
}

Trained by_ranks(std::int64_t count, const TrainedSettings& settings) {
  if (count == 1) return train_steps(*make_single_process(), settings);
  std::vector<Trained> all(static_cast<std::size_t>(count));
  const auto problems = on_ranks(count, kTimeout, [&](Processes& processes) {
    all[static_cast<std::size_t>(processes.rank())] = train_steps(processes, settings);
  });
  CHECK(problems == std::vector<std::string>(static_cast<std::size_t>(count)));
  // All processes hold the same.
  for (const Trained& other : all) CHECK(at::equal(other.values, all.front().values));
  return all.front();
}

void check_equal(const Trained& a, const Trained& b) {
  CHECK(at::equal(a.values, b.values));
  CHECK(at::equal(a.first_moments, b.first_moments));
  CHECK(at::equal(a.second_moments, b.second_moments));
  CHECK(a.losses == b.losses);
}

}  // namespace

TEST_CASE("parts cover the buffer once, in whole pieces") {
  for (const std::int64_t size : {std::int64_t{1}, FlatParts::kPiece, 7 * FlatParts::kPiece + 5}) {
    for (const std::int64_t processes : {1, 2, 3, 8}) {
      const FlatParts parts(size, processes);
      CHECK(parts.begin(0) == 0);
      CHECK(parts.end(processes - 1) == size);
      for (std::int64_t r = 0; r < processes; ++r) {
        CHECK(parts.size(r) <= parts.size(0));
        if (r > 0) CHECK(parts.begin(r) == parts.end(r - 1));
        if (parts.begin(r) < size) CHECK(parts.begin(r) % FlatParts::kPiece == 0);
      }
    }
  }
}

TEST_CASE("two processes take the steps of one") {
  const Trained one = by_ranks(1, {});
  for (const bool in_parts : {false, true}) {
    const Trained two = by_ranks(2, {.in_parts = in_parts});
    CHECK(at::allclose(one.values, two.values, 1e-4, 1e-6));
    for (std::size_t i = 0; i < one.losses.size(); ++i) {
      CHECK(two.losses[i] == Approx(one.losses[i]).epsilon(1e-5));
    }
  }
}

TEST_CASE("an optimiser in parts takes the steps of a whole one in the forms of GPUs") {
  // Kernels that run at the same time would share the emulation's fibers.
  std::mutex one_at_a_time;
  const auto emulate = [&](const gpu::Launch& what) {
    const std::lock_guard lock(one_at_a_time);
    emulate_kernel(what);
  };
  const bool composed = GENERATE(false, true);
  const bool muon = GENERATE(false, true);
  CAPTURE(composed, muon);
  std::optional<gpu::KernelEmulation> emulation;
  if (!composed) emulation.emplace(emulate);
  const TrainedSettings whole{.muon = muon, .composed = composed, .width = 4096};
  TrainedSettings parts = whole;
  parts.in_parts = true;
  // Muon would enlarge the differences between one process's sums and those of two.
  const Trained one = by_ranks(2, whole), two = by_ranks(2, parts);
  const auto close = [](const at::Tensor& a, const at::Tensor& b) {
    return at::allclose(a, b, 1e-4, 1e-6);
  };
  CHECK(close(one.values, two.values));
  CHECK(close(one.first_moments, two.first_moments));
  CHECK(close(one.second_moments, two.second_moments));
}

TEST_CASE("in the deterministic order any number of processes gives the same bits") {
  const auto deterministic = GradientReduction::deterministic;
  const Trained one = by_ranks(1, {.order = deterministic});
  check_equal(one, by_ranks(2, {.order = deterministic}));
  check_equal(one, by_ranks(4, {.order = deterministic}));
  check_equal(one, by_ranks(2, {.order = deterministic, .in_parts = true}));
  check_equal(one, by_ranks(4, {.order = deterministic, .in_parts = true}));
}

TEST_CASE("processes that share Muon's moments make whole matrices orthogonal") {
  const auto deterministic = GradientReduction::deterministic;
  const Trained one = by_ranks(1, {.order = deterministic, .muon = true});
  check_equal(one, by_ranks(2, {.order = deterministic, .muon = true}));
  check_equal(one, by_ranks(2, {.order = deterministic, .in_parts = true, .muon = true}));
  check_equal(one, by_ranks(4, {.order = deterministic, .in_parts = true, .muon = true}));
}

// Three steps of two processes; before the second the second process gives one up.
at::Tensor values_after(Processes& processes, const ReductionSettings& settings, bool gives_up) {
  ToyTask task(kWide);
  Optimizer optimizer(task.parameters(), {}, settings.in_parts ? &processes : nullptr);
  const auto reduction = make_step_reduction(processes, task.parameters(), settings);
  const BatchNumbers numbers{.accumulation = 3, .rank = processes.rank(), .processes = 2};
  const auto take = [&](std::int64_t step, const std::function<bool()>& stop) {
    std::int64_t micro = 0;
    return take_training_step(
        task, optimizer, [&] { return task.make_batch(numbers.number(6 * step, micro++)); },
        {.step = step,
         .seed = 3,
         .numbers = numbers,
         .learning_rate = 0.01,
         .clip = 1,
         .stop = stop},
        reduction.get());
  };
  take(0, {});
  if (gives_up) {
    const at::Tensor before = task.parameters().flat_values().clone();
    const StepResult result = take(1, [&] { return processes.rank() == 1; });
    if (!result.given_up) throw std::runtime_error("the step was not given up");
    if (!at::equal(task.parameters().flat_values(), before)) throw std::runtime_error("changed");
  }
  for (const std::int64_t step : {1, 2}) {
    if (take(step, {}).given_up) throw std::runtime_error("a step was given up");
  }
  return task.parameters().flat_values().clone();
}

TEST_CASE("a step that one process gives up is given up by all, and the next ones are as ever") {
  const ReductionSettings settings{
      .order = GENERATE(GradientReduction::fast, GradientReduction::deterministic),
      .in_parts = GENERATE(false, true),
      .bucket = 50'000};
  const auto problems = on_ranks(2, kTimeout, [&](Processes& processes) {
    const at::Tensor with = values_after(processes, settings, true);
    const at::Tensor without = values_after(processes, settings, false);
    if (!at::equal(with, without)) throw std::runtime_error("other values");
  });
  CHECK(problems == std::vector<std::string>(2));
}

}  // namespace roformer
