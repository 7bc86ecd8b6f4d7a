// One step of training, the same for the trainer and for every benchmark: forward and backward
// passes of its micro-batches, what other processes add, clipping and the optimiser's update.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "training/batch_numbers.h"
#include "training/optimizer.h"
#include "training/pass_graphs.h"
#include "training/step_reduction.h"
#include "training/task.h"

namespace roformer {

struct StepSettings {
  std::int64_t step = 0;  // number of the step, from 0
  std::uint64_t seed = 0;
  BatchNumbers numbers = {};
  double learning_rate = 0;
  double clip = 0;               // largest norm of the mean gradient; 0: no clipping
  PassGraphs* graphs = nullptr;  // of the objective, when one process trains it
  // Asked between two micro-batches: true gives the step up. Empty: never.
  std::function<bool()> stop = {};
};

struct StepResult {
  StepSums sums;
  OptimizerOutcome outcome;
  // One of the processes has stopped in it: nothing was updated, and nothing else here counts.
  bool given_up = false;
};

// This process's next micro-batch of the step.
using NextBatch = std::function<std::unique_ptr<TrainingBatch>()>;

// Makes one update of the objective's parameters, whose gradients are zero before and after, from
// this process's micro-batches of the step (settings.numbers) in their order. Each is made when its
// turn comes and freed as soon as it is used. Constraints hold afterwards. Waits for no device.
// Several processes need a reduction; where one of them gives the step up, all do.
StepResult take_training_step(TrainingObjective& objective, AdamW& optimizer, const NextBatch& next,
                              const StepSettings& settings, StepReduction* reduction = nullptr);
// The same from micro-batches that are there.
StepResult take_training_step(TrainingObjective& objective, AdamW& optimizer,
                              std::vector<std::unique_ptr<TrainingBatch>> batches,
                              const StepSettings& settings, StepReduction* reduction = nullptr);

}  // namespace roformer
