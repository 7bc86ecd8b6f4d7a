// The trainer's steps with a watch beside them, on an objective whose batches cost next to nothing.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "config/settings.h"
#include "training/optimizer.h"
#include "training/pass_graphs.h"
#include "training/task.h"

namespace roformer {

using BenchmarkClock = std::chrono::steady_clock;
double milliseconds_since(BenchmarkClock::time_point start);

// Waits for the device by reading a number.
void wait_for(const at::Tensor& scalar);

struct StepTime {
  double milliseconds = 0;
  double loading = 0;        // of these, for making the batch
  std::int64_t targets = 0;  // that carried a loss
};

class TimedTraining {
 public:
  // Optimiser, rate and clipping as the settings have them.
  TimedTraining(std::unique_ptr<TrainingObjective> objective, const Settings& settings);

  // The whole of a step on the batch of that number: forward, backward, clipping, update, and
  // meanwhile, as the trainer's prefetcher does, the next batch.
  StepTime step(std::int64_t number);

  const ParameterStore& parameters() const { return objective_->parameters(); }

 private:
  std::unique_ptr<TrainingObjective> objective_;
  TrainingSettings settings_;
  AdamW optimizer_;
  std::unique_ptr<PassGraphs> graphs_;
  // The number of the next batch, and the batch.
  std::pair<std::int64_t, std::unique_ptr<TrainingBatch>> next_;
};

}  // namespace roformer
