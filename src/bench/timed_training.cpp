#include "bench/timed_training.h"

#include <utility>
#include <vector>

#include "training/training_step.h"

namespace roformer {
namespace {

constexpr std::uint64_t kSeed = 7;  // of dropout

}  // namespace

double milliseconds_since(BenchmarkClock::time_point start) {
  return std::chrono::duration<double, std::milli>(BenchmarkClock::now() - start).count();
}

void wait_for(const at::Tensor& scalar) {
  scalar.item<double>();
}

TimedTraining::TimedTraining(std::unique_ptr<TrainingObjective> objective, const Settings& settings)
    : objective_(std::move(objective)),
      settings_(settings.training),
      optimizer_(objective_->parameters(), {.beta1 = settings_.beta1,
                                            .beta2 = settings_.beta2,
                                            .epsilon = settings_.epsilon,
                                            .weight_decay = settings_.weight_decay}),
      graphs_(make_pass_graphs(*objective_, settings_)) {
  objective_->parameters().apply_constraints();
}

StepTime TimedTraining::step(std::int64_t number) {
  if (next_.second == nullptr || next_.first != number) {
    next_ = {number, objective_->make_batch(number)};
  }
  const auto start = BenchmarkClock::now();
  std::vector<std::unique_ptr<TrainingBatch>> batches;
  batches.push_back(std::move(next_.second));
  StepTime time{.targets = batches.back()->target_count};
  const StepResult result = take_training_step(*objective_, optimizer_, std::move(batches),
                                               {.step = number,
                                                .seed = kSeed,
                                                .learning_rate = settings_.learning_rate,
                                                .clip = settings_.clip,
                                                .graphs = graphs_.get()});
  // A GPU is still at work here.
  const auto loading = BenchmarkClock::now();
  next_ = {number + 1, objective_->make_batch(number + 1)};
  time.loading = milliseconds_since(loading);
  wait_for(result.outcome.gradient_norm);
  time.milliseconds = milliseconds_since(start);
  return time;
}

}  // namespace roformer
