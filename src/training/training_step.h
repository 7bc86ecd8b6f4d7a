// One step of training, the same for the trainer and for every benchmark: forward and backward
// passes of its micro-batches, the sum over processes, clipping and the optimiser's update.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

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
  double clip = 0;                 // largest norm of the mean gradient; 0: no clipping
  PassGraphs* graphs = nullptr;    // of the objective, when one process trains it
  Processes* processes = nullptr;  // for an objective that needs_other_parts()
  // Called between two micro-batches; true gives the step up. Empty: never.
  std::function<bool()> stop = {};
};

struct StepResult {
  StepSums sums;
  OptimizerOutcome outcome;
  // A process stopped inside the step. Nothing was updated, and the other members are undefined.
  bool given_up = false;
};

// This process's next micro-batch of the step, or its part of it.
using NextBatch = std::function<std::unique_ptr<TrainingBatch>()>;

// Updates the objective's parameters once, from this process's share of the step
// (settings.numbers) in their order. Gradients are zero before and after. A micro-batch is made
// just before its use and freed afterwards. Constraints hold afterwards. Does not wait for a
// device. Several processes need a reduction; if one of them gives the step up, all do.
StepResult take_training_step(TrainingObjective& objective, Optimizer& optimizer,
                              const NextBatch& next, const StepSettings& settings,
                              StepReduction* reduction = nullptr);
// The same with existing micro-batches.
StepResult take_training_step(TrainingObjective& objective, Optimizer& optimizer,
                              std::vector<std::unique_ptr<TrainingBatch>> batches,
                              const StepSettings& settings, StepReduction* reduction = nullptr);

}  // namespace roformer
