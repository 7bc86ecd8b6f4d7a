// The parts of a training step of several processes on random tokens: computing, waiting for the
// slowest process, and adding the gradients.
#pragma once

#include <cstdint>

#include "config/settings.h"
#include "tensor/device.h"
#include "training/distributed/processes.h"

namespace roformer {

struct ScalingTimes {
  std::int64_t processes = 1;
  std::int64_t threads = 1;      // of each
  std::int64_t tokens = 0;       // of a step, of all
  std::int64_t bytes = 0;        // of the gradient
  double step_milliseconds = 0;  // medians of the first process
  double wait_milliseconds = 0;
  double reduce_milliseconds = 0;
  // The time for adding such a gradient while nothing else runs.
  double bare_milliseconds = 0;
  std::int64_t peak_memory_mib = 0;  // of the first process

  double compute_milliseconds() const {
    return step_milliseconds - wait_milliseconds - reduce_milliseconds;
  }
  double tokens_per_second() const { return 1e3 * static_cast<double>(tokens) / step_milliseconds; }
  // Each process of a ring sends and receives 2 (n - 1) / n of the gradient.
  double bytes_sent() const;
};

// Measures steps of settings' model after some steps that do not count. Unlike in a training, each
// process has training.batch x training.accumulation rows, so that its work does not depend on
// their number. Every process makes the same call.
ScalingTimes measure_scaling(const Settings& settings, const ComputePlan& plan,
                             Processes& processes, std::int64_t steps);

}  // namespace roformer
