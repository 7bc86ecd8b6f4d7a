#include "bench/scaling.h"

#include <ATen/Parallel.h>
#include <memory>
#include <utility>
#include <vector>

#include "bench/random_training.h"
#include "bench/timing.h"
#include "metrics/statistics.h"
#include "training/training_step.h"

namespace roformer {
namespace {

constexpr std::int64_t kUncounted = 2;
constexpr std::uint64_t kDropoutSeed = 11;

// A timed reduction. All processes meet first, so that waiting is not counted as adding.
class WatchedReduction : public StepReduction {
 public:
  WatchedReduction(Processes& processes, std::unique_ptr<StepReduction> inner)
      : processes_(processes), inner_(std::move(inner)) {}

  void begin_last() override {
    if (inner_) inner_->begin_last();
  }
  void add_micro_batch(const at::Tensor& loss, ParameterStore& parameters) override {
    if (inner_) inner_->add_micro_batch(loss, parameters);
  }
  bool finish(StepSums& sums, ParameterStore& parameters, std::int64_t missing) override {
    const auto start = BenchmarkClock::now();
    barrier(processes_);
    wait = milliseconds_since(start);
    const bool whole = inner_ ? inner_->finish(sums, parameters, missing) : missing == 0;
    reduce = milliseconds_since(start) - wait;
    return whole;
  }

  double wait = 0;  // milliseconds of the last step
  double reduce = 0;

 private:
  Processes& processes_;
  std::unique_ptr<StepReduction> inner_;
};

}  // namespace

double ScalingTimes::bytes_sent() const {
  return 2.0 * static_cast<double>(bytes) * static_cast<double>(processes - 1) /
         static_cast<double>(processes);
}

ScalingTimes measure_scaling(const Settings& settings, const ComputePlan& plan,
                             Processes& processes, std::int64_t steps) {
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
    whole.push_back(milliseconds_since(start));
    waits.push_back(reduction.wait);
    reduces.push_back(reduction.reduce);
  }
  const TimedPiece sum_alone = [&](std::int64_t) {
    barrier(processes);
    return time_of([&] { processes.begin_sum(parameters.flat_gradients())->wait(); });
  };
  const std::vector<double> bare =
      time_pieces({sum_alone}, {.counted = processes.alone() ? 0 : steps, .warmup = 0}).front();
  const auto& gradients = parameters.flat_gradients();
  return {.processes = processes.count(),
          .threads = at::get_num_threads(),
          .tokens = settings.training.batch * settings.data.length * numbers.per_step(),
          .bytes = static_cast<std::int64_t>(gradients.nbytes()),
          .step_milliseconds = median(whole),
          .wait_milliseconds = median(waits),
          .reduce_milliseconds = median(reduces),
          .bare_milliseconds = bare.empty() ? 0 : median(bare),
          .peak_memory_mib = peak_memory_mib()};
}

}  // namespace roformer
