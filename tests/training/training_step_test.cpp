#include "training/training_step.h"

#include "catch.h"
#include "training/toy_task.h"

namespace roformer {
namespace {

std::vector<std::unique_ptr<TrainingBatch>> batches_of(const ToyTask& task,
                                                       const BatchNumbers& numbers,
                                                       std::int64_t step) {
  std::vector<std::unique_ptr<TrainingBatch>> batches;
  for (std::int64_t i = 0; i < numbers.accumulation; ++i) {
    batches.push_back(task.make_batch(numbers.number(step * numbers.per_step(), i)));
  }
  return batches;
}

}  // namespace

TEST_CASE("the processes of a step take every batch once, in turns") {
  const BatchNumbers first{.accumulation = 2, .rank = 0, .processes = 3};
  const BatchNumbers last{.accumulation = 2, .rank = 2, .processes = 3};
  CHECK(first.per_step() == 6);
  CHECK(first.number(12, 0) == 12);
  CHECK(first.number(12, 1) == 15);
  CHECK(first.number(12, 2) == 18);  // of the next step
  CHECK(last.number(12, 1) == 17);
  CHECK(last.index_in_step(1) == 5);
  CHECK(BatchNumbers{.accumulation = 4}.number(8, 3) == 11);
}

TEST_CASE("two processes that add what they have take the step of one") {
  ToyTask alone, left, right;
  AdamW optimizer(alone.parameters(), {}), left_optimizer(left.parameters(), {}),
      right_optimizer(right.parameters(), {});
  for (std::int64_t step = 0; step < 3; ++step) {
    const StepSettings settings{
        .step = step, .seed = 3, .numbers = {.accumulation = 4}, .learning_rate = 0.01, .clip = 1};
    const StepResult whole =
        take_training_step(alone, optimizer, batches_of(alone, settings.numbers, step), settings);
    CHECK(whole.sums.targets == 16);
    CHECK(whole.sums.tokens == 160);

    // The second process runs inside the reduction of the first, and leaves its sums there.
    StepSums both;
    at::Tensor gradients;
    const auto of_rank = [&](std::int64_t rank) {
      StepSettings half = settings;
      half.numbers = {.accumulation = 2, .rank = rank, .processes = 2};
      return half;
    };
    const auto add = [](StepSums& sums, ParameterStore& parameters, const StepSums& other,
                        const at::Tensor& gradient) {
      sums.loss = sums.loss + other.loss;
      sums.targets += other.targets;
      sums.tokens += other.tokens;
      parameters.flat_gradients().add_(gradient);
    };
    const StepResult reduced = take_training_step(
        left, left_optimizer, batches_of(left, of_rank(0).numbers, step), of_rank(0),
        [&](StepSums& sums, ParameterStore& parameters) {
          const StepSums mine = sums;
          const at::Tensor my_gradient = parameters.flat_gradients().clone();
          take_training_step(right, right_optimizer, batches_of(right, of_rank(1).numbers, step),
                             of_rank(1), [&](StepSums& theirs, ParameterStore& their_parameters) {
                               both = theirs;
                               gradients = their_parameters.flat_gradients().clone();
                               add(theirs, their_parameters, mine, my_gradient);
                             });
          add(sums, parameters, both, gradients);
        });
    CHECK(reduced.sums.targets == 16);
    CHECK(reduced.sums.tokens == 160);
    CHECK(reduced.sums.loss.item<double>() == Approx(whole.sums.loss.item<double>()).epsilon(1e-5));
    CHECK(reduced.outcome.gradient_norm.item<double>() ==
          Approx(whole.outcome.gradient_norm.item<double>()).epsilon(1e-5));
  }
  CHECK(
      at::allclose(left.parameters().flat_values(), alone.parameters().flat_values(), 1e-4, 1e-6));
  CHECK(at::equal(left.parameters().flat_values(), right.parameters().flat_values()));
}

}  // namespace roformer
