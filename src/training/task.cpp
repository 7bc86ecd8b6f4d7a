#include "training/task.h"

#include "base/error.h"

namespace roformer {

std::unique_ptr<TrainingBatch> TrainingTask::make_part_of(std::int64_t stage, std::int64_t number,
                                                          const BatchPart& part) const {
  if (!part.whole()) {
    throw_usage("training.accumulation",
                "does not divide evenly among the processes, and this task cannot divide a "
                "micro-batch",
                "a multiple of the number of processes");
  }
  return make_batch_of(stage, number);
}

}  // namespace roformer
