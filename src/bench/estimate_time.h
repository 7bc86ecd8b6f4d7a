// The time of a training's passes: interpolated between steps that were measured on a card, or
// measured here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bench/estimate_passes.h"
#include "bench/measured_devices.h"

namespace roformer {

struct PassSpeed {
  // Milliseconds of a pass with so many GFLOP, and the factors to its least and most.
  std::function<double(double gflop)> milliseconds;
  double below = 1, above = 1;
  std::string source;
};

// A property that no measured step has, in words, and the factor by which it may slow a step.
struct UnmeasuredParts {
  double factor = 1;
  std::string words;
};
UnmeasuredParts unmeasured(const Settings& settings, std::int64_t with_scores);

// The speed of a card, for passes near one with so many GFLOP. `device` must outlive the result.
PassSpeed known_speed(const MeasuredDevice& device, const Settings& settings, double gflop,
                      std::int64_t with_scores);

// The speed of this machine in so many steps, or as many as a minute has time for.
PassSpeed measured_speed(const OpenedEstimate& opened, const EstimatedPass& pass,
                         const MeanBatch& batch, double gflop, const ComputePlan& plan,
                         std::int64_t steps);

// Sets the seconds of the stages' steps and the time of the training. Each step also takes the
// milliseconds in which the processes add up their gradients.
void add_time(TrainingEstimate& estimate, const PassSpeed& speed, double gradient_milliseconds);

}  // namespace roformer
