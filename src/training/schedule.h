// The learning rate over a training, and the stages of a training.
//
// The rate is a share of its peak: warm-up to the peak, then constant, linear, cosine, inverse
// square root, or constant with a linear decay at the end (wsd). It is a pure function of
// progress, so trainings measured in any unit (steps, epochs, tokens, minutes) have the same
// schedules, and resuming needs no state.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/data_settings.h"
#include "config/training_settings.h"
#include "training/task.h"

namespace roformer {

struct Schedule {
  ScheduleKind kind = ScheduleKind::linear;
  double warmup = 0;        // in the unit of `length`, at most `length`
  double initial_rate = 0;  // share of the peak at which the warm-up starts
  double final_rate = 0;    // share of the peak at the end of linear, cosine and wsd
  double decay = 0;         // of wsd: the decay at the end, in the unit of `length`
  // The training. wsd measures in the unit of training.steps, so that the rates before its decay
  // are the same bits for trainings of all lengths. The others measure in shares of the training.
  double length = 1;

  bool in_shares() const { return kind != ScheduleKind::wsd; }
  double decay_start() const { return length - decay; }  // of wsd
};

// In the schedule's unit.
struct Progress {
  double done = 0;  // the training before this step, at most its length
  double step = 0;  // this step
};

// In [0, 1]. Step k = 1, ..., W of a warm-up of W steps has i + (1 - i) k/W with the initial share
// i, so that step W has 1, and the decay of linear, cosine and wsd would reach final_rate at the
// step after the last. Inverse square root is sqrt(W / steps) after the warm-up (Vaswani et al.
// 2017, eq. 3, scaled to a peak of 1).
double learning_rate_share(const Schedule& schedule, const Progress& progress);

// The size of batches, to measure periods in steps.
struct BatchMeasure {
  double batches_per_epoch = 0;
  double tokens_per_batch = 0;
  double batches_per_step = 1;
};
// The number of steps in a period, if it is known in advance (not for minutes).
double steps_in(const Period& period, const BatchMeasure& batch);

Schedule make_schedule(const TrainingSettings& settings, const BatchMeasure& batch);

// The stages of a training. Steps and micro-batches are numbered through all stages, and one
// optimiser serves them all. The stage of a step or a batch is a function of its number, so that
// batches can be made ahead across a border and resuming needs no state. A training without stages
// is one stage without end.
class StagePlan {
 public:
  // `numbers` describe a step of training.accumulation micro-batches.
  StagePlan(const TrainingSettings& settings, std::span<const StageSettings> stages,
            const BatchNumbers& numbers);

  // 0 without stages.
  std::int64_t stages() const { return staged_ ? std::ssize(stages_) : 0; }
  std::int64_t stage_of_step(std::int64_t step) const;  // after the end, the last stage
  // True if a stage ends after this many steps.
  bool ends_stage(std::int64_t steps) const;
  // How the processes share a step.
  const BatchNumbers& numbers(std::int64_t step) const;
  // The largest learning rate at a step: the stage's, rising in its warm-up.
  double peak_rate(std::int64_t step) const;

  struct StageBatch {
    std::int64_t stage = 0;
    std::int64_t number = 0;  // among the stage's batches
  };
  // `number` counts micro-batches through all stages.
  StageBatch of_batch(std::int64_t number) const;
  // The batch that this process computes in its i-th pass, counted from the step that begins with
  // the micro-batch `first`.
  struct StagePass {
    StageBatch batch;
    BatchPart part;
  };
  StagePass of_pass(std::int64_t first, std::int64_t i) const;
  // How many times the data have been read before that micro-batch.
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

  std::size_t stage_of_batch(std::int64_t number) const;
};

}  // namespace roformer
