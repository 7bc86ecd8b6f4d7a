#include "bench/scaling.h"

#include <ATen/Parallel.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "bench/random_training.h"
#include "bench/timing.h"
#include "metrics/statistics.h"
#include "tensor/gpu/driver.h"
#include "training/training_step.h"

namespace roformer {
namespace {

constexpr std::int64_t kUncounted = 2;
constexpr std::uint64_t kDropoutSeed = 11;

// By the machine's clock, so that the times of its processes compare.
double milliseconds_now() {
  return std::chrono::duration<double, std::milli>(BenchmarkClock::now().time_since_epoch())
      .count();
}

// A timed reduction. The gradients travel as in a training: nothing waits for the others before.
class WatchedReduction : public StepReduction {
 public:
  WatchedReduction(Processes& processes, std::unique_ptr<StepReduction> inner)
      : processes_(processes), inner_(std::move(inner)) {}

  void begin_last() override {
    if (inner_) inner_->begin_last();
  }
  void add_micro_batch(const at::Tensor& loss, ParameterStore& parameters) override {
    if (!inner_) return;
    wait_for(loss);  // a GPU's backward pass
    added_ += time_of([&] { inner_->add_micro_batch(loss, parameters); });
  }
  bool finish(StepSums& sums, ParameterStore& parameters, std::int64_t missing) override {
    if (!inner_) return missing == 0;
    const double computed = milliseconds_now();
    const bool whole = inner_->finish(sums, parameters, missing);
    const double done = milliseconds_now();
    double slowest = computed;
    for (const auto& row : gather_numbers(processes_, {&computed, 1})) {
      slowest = std::max(slowest, row[0]);
    }
    wait = slowest - computed;
    reduce = std::exchange(added_, 0) + done - slowest;
    watching = milliseconds_now() - done;
    return whole;
  }

  double wait = 0;  // milliseconds of the last step
  double reduce = 0;
  double watching = 0;  // for the measurement alone

 private:
  Processes& processes_;
  std::unique_ptr<StepReduction> inner_;
  double added_ = 0;
};

std::int64_t embedding_numbers(const ParameterStore& parameters) {
  std::int64_t numbers = 0;
  for (const ParameterRange& range : parameters.ranges()) {
    if (range.depth == 0) numbers += range.end - range.begin;
  }
  return numbers;
}

StepCost cost_of(const Settings& settings, const ParameterStore& parameters) {
  const TrainingSettings& training = settings.training;
  const at::Tensor& gradients = parameters.flat_gradients();
  const auto bytes = static_cast<std::int64_t>(gradients.element_size());
  const bool fast = training.reduce == GradientReduction::fast;
  return {.micro_batches = training.accumulation,
          .gradient_bytes = bytes * gradients.numel(),
          .embedding_bytes = bytes * embedding_numbers(parameters),
          .bucket_bytes = bytes * bucket_size(gradients.numel()),
          .rounds = fast ? 2 : training.accumulation + 1,
          .overlaps = fast && !training.shard_optimizer};
}

}  // namespace

double ScalingTimes::hidden() const {
  if (!cost.overlaps || bare_milliseconds == 0) return 0;
  return std::clamp(1 - reduce_milliseconds / bare_milliseconds, 0.0, 1.0);
}

Network ScalingTimes::network() const {
  return fit_network(processes, one_number_milliseconds / 1e3, bare_milliseconds / 1e3,
                     rounds_added, cost);
}

ScalingTimes measure_scaling(const Settings& settings, const ComputePlan& plan,
                             Processes& processes, std::int64_t steps) {
  const bool on_gpu = plan.device.is_cuda();
  const std::string way =
      on_gpu ? processes.use_gpu(gpu::card_identity(plan.device)) : "through Gloo";
  const auto objective = random_language(settings, plan);
  ParameterStore& parameters = objective->parameters();
  const bool in_parts = settings.training.shard_optimizer;
  Optimizer optimizer(parameters, {}, in_parts ? &processes : nullptr);
  WatchedReduction reduction(
      processes, make_step_reduction(processes, parameters,
                                     {.order = settings.training.reduce, .in_parts = in_parts}));
  const BatchNumbers numbers{.accumulation = settings.training.accumulation,
                             .rank = processes.rank(),
                             .processes = processes.count()};
  std::vector<double> whole, waits, reduces;
  for (std::int64_t step = 0; step < kUncounted + steps; ++step) {
    const auto start = BenchmarkClock::now();
    std::vector<std::unique_ptr<TrainingBatch>> batches;
    for (std::int64_t i = 0; i < numbers.accumulation; ++i) {
      batches.push_back(objective->make_batch(numbers.number(step * numbers.per_step(), i)));
    }
    const StepResult result = take_training_step(*objective, optimizer, std::move(batches),
                                                 {.step = step,
                                                  .seed = kDropoutSeed,
                                                  .numbers = numbers,
                                                  .learning_rate = 1e-4,
                                                  .clip = settings.training.clip},
                                                 &reduction);
    wait_for(result.outcome.gradient_norm);
    if (step < kUncounted) continue;
    whole.push_back(milliseconds_since(start) - reduction.watching);
    waits.push_back(reduction.wait);
    reduces.push_back(reduction.reduce);
  }
  ScalingTimes times{.processes = processes.count(),
                     .threads = at::get_num_threads(),
                     .tokens = settings.training.batch * settings.data.length * numbers.per_step(),
                     .step_milliseconds = median(whole),
                     .wait_milliseconds = median(waits),
                     .reduce_milliseconds = median(reduces),
                     .peak_memory_mib = on_gpu ? static_cast<std::int64_t>(peak_gpu_memory() >> 20)
                                               : peak_memory_mib(),
                     .way = way,
                     .cost = cost_of(settings, parameters)};
  times.cost.compute =
      (times.step_milliseconds - times.wait_milliseconds - times.reduce_milliseconds) / 1e3;
  times.rounds_added = times.cost.rounds - (in_parts ? 1 : 0);
  const at::Tensor one = at::zeros({1}, parameters.flat_gradients().options());
  const TimedPiece add_one = [&](std::int64_t) {
    barrier(processes);
    return time_of([&] { processes.begin_sum(one)->wait(); });
  };
  const TimedPiece add_gradients = [&](std::int64_t) {
    barrier(processes);
    const at::Tensor no_loss = at::zeros({}, one.options());
    StepSums sums;
    return time_of([&] {
             reduction.begin_last();
             for (std::int64_t i = 0; i < numbers.accumulation; ++i) {
               reduction.add_micro_batch(no_loss, parameters);
             }
             reduction.finish(sums, parameters, 0);
           }) -
           reduction.watching;
  };
  // A single process tries its connections, too.
  if (processes.alone()) {
    add_one(0);
    return times;
  }
  const auto alone = time_pieces({add_one, add_gradients}, {.counted = steps, .warmup = 1});
  times.one_number_milliseconds = median(alone[0]);
  times.bare_milliseconds = median(alone[1]);
  return times;
}

}  // namespace roformer
