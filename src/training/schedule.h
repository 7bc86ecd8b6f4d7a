// The learning rate over a training, as a share of its peak: warm-up to the peak, then
// constant, linear, cosine or inverse square root. A pure function of progress, so that any unit of
// training length (steps, epochs, tokens, minutes) has the same schedules and resume needs no
// state.
#pragma once

#include "config/training_settings.h"

namespace roformer {

struct Schedule {
  ScheduleKind kind = ScheduleKind::linear;
  double warmup = 0;        // share of the training, in [0, 1]
  double initial_rate = 0;  // that the warm-up rises from, as a share of the peak
  double final_rate = 0;    // at the end of linear and cosine, as a share of the peak
};

struct Progress {
  double done = 0;  // share of the training before this step, in [0, 1]
  double step = 0;  // share that this step is
};

// In [0, 1]. Step k = 1, ..., W of a warm-up of W steps has i + (1 - i) k/W with the initial share
// i, so that step W has 1, and the decay of linear and cosine would reach final_rate at the step
// after the last. Inverse square root is sqrt(W / steps) after the warm-up (Vaswani et al. 2017,
// eq. 3, scaled to a peak of 1).
double learning_rate_share(const Schedule& schedule, const Progress& progress);

// How much a batch is, to measure periods in steps.
struct BatchMeasure {
  double batches_per_epoch = 0;
  double tokens_per_batch = 0;
  double batches_per_step = 1;
};
// How many steps a period is, as far as it can be known before (not for minutes).
double steps_in(const Period& period, const BatchMeasure& batch);

// The schedule of the settings, its warm-up as a share of the training.
Schedule make_schedule(const TrainingSettings& settings, const BatchMeasure& batch);

}  // namespace roformer
