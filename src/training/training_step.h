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
#include "training/task.h"

namespace roformer {

// What a step's micro-batches come to. The gradient of the sum of losses is the store's flat one.
struct StepSums {
  at::Tensor loss;  // [] on the parameters' device, without a graph
  std::int64_t targets = 0;
  std::int64_t tokens = 0;
  std::int64_t padding = 0;
};

// Called between the backward passes and the update: several processes make their sums and the flat
// gradient those of all.
using StepReduction = std::function<void(StepSums& sums, ParameterStore& parameters)>;

struct StepSettings {
  std::int64_t step = 0;  // number of the step, from 0
  std::uint64_t seed = 0;
  BatchNumbers numbers = {};
  double learning_rate = 0;
  double clip = 0;  // largest norm of the mean gradient; 0: no clipping
};

struct StepResult {
  StepSums sums;
  OptimizerOutcome outcome;
};

// Makes one update of the objective's parameters, whose gradients are zero before and after, from
// this process's micro-batches of the step in their order. Each is freed as soon as it is used.
// Constraints hold afterwards. Waits for no device.
StepResult take_training_step(TrainingObjective& objective, AdamW& optimizer,
                              std::vector<std::unique_ptr<TrainingBatch>> batches,
                              const StepSettings& settings, const StepReduction& reduce = {});

}  // namespace roformer
