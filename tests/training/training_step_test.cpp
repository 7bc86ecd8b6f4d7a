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

}  // namespace roformer
