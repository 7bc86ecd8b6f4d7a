// Where a training in stages stands. One optimiser, one row of steps and one row of micro-batches
// go through all stages; which stage a step or a batch belongs to is a function of its number, so
// that batches are made ahead across the border and a resumption needs no more state. A training
// without stages is one that never ends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/data_lists.h"
#include "config/training_settings.h"
#include "training/batch_numbers.h"
#include "training/task.h"

namespace roformer {

class StagePlan {
 public:
  // `numbers`: those of a step that is as training.accumulation says. Throws Error (usage) for a
  // stage whose micro-batches the processes cannot share evenly.
  StagePlan(const TrainingSettings& settings, std::span<const StageSettings> stages,
            const BatchNumbers& numbers);

  // 0 without stages; behind the end the last stage.
  std::int64_t stages() const { return staged_ ? std::ssize(stages_) : 0; }
  std::int64_t stage_of_step(std::int64_t step) const;
  // True for a number of steps at which a stage is done.
  bool ends_stage(std::int64_t steps) const;
  // How the micro-batches of a step are shared out.
  const BatchNumbers& numbers(std::int64_t step) const;
  // The largest learning rate at a step: the stage's, rising in its warm-up.
  double peak_rate(std::int64_t step) const;

  struct StageBatch {
    std::int64_t stage = 0;
    std::int64_t number = 0;  // among the stage's batches
  };
  // Of a micro-batch, counted through all stages.
  StageBatch of_batch(std::int64_t number) const;
  // How often the data have been gone through before that micro-batch.
  double epochs(std::int64_t number, const TrainingTask& task) const;

 private:
  struct Stage {
    std::int64_t first_step = 0;
    std::int64_t first_batch = 0;
    std::int64_t warmup = 0;
    double learning_rate = 0;
    BatchNumbers numbers;
  };
  std::vector<Stage> stages_;  // at least one
  std::int64_t end_step_ = 0;
  bool staged_ = false;
};

}  // namespace roformer
