// Training steps of a language model on random tokens, as benchmarks take them: the whole of a step
// (batch, forward, backward, clipping, AdamW) without data.
#pragma once

#include <chrono>
#include <cstdint>

#include "config/settings.h"
#include "tasks/language_model.h"
#include "tensor/device.h"
#include "training/optimizer.h"

namespace roformer {

using BenchmarkClock = std::chrono::steady_clock;
double milliseconds_since(BenchmarkClock::time_point start);

// Waits for the device by reading a number.
void wait_for(const at::Tensor& scalar);

class RandomTraining {
 public:
  // settings.model.vocabulary must be set.
  RandomTraining(const Settings& settings, const ComputePlan& plan);

  struct Step {
    double milliseconds = 0;
    double loading = 0;  // of these, for making the batch
    double places = 0;   // that carried a loss
  };
  // The batch is a function of the number.
  Step step(std::uint64_t number);

  const ParameterStore& parameters() const { return model_.parameters(); }

 private:
  Settings settings_;
  LanguageModel model_;
  AdamW optimizer_;
};

}  // namespace roformer
