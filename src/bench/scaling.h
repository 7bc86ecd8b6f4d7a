// The parts of a training step of several processes on random tokens: computing, waiting for the
// slowest process, and what is left of adding the gradients when all have computed theirs.
#pragma once

#include <cstdint>
#include <string>

#include "bench/scaling_model.h"
#include "config/settings.h"
#include "tensor/device.h"
#include "training/distributed/processes.h"

namespace roformer {

struct ScalingTimes {
  std::int64_t processes = 1;
  std::int64_t threads = 1;      // of each
  std::int64_t tokens = 0;       // of a step, of all
  double step_milliseconds = 0;  // medians of the first process
  double wait_milliseconds = 0;
  double reduce_milliseconds = 0;  // that computing does not hide
  // The time for adding such gradients while nothing else runs, and for adding one number.
  double bare_milliseconds = 0;
  double one_number_milliseconds = 0;
  std::int64_t peak_memory_mib = 0;  // of the first process, on a GPU the card's
  std::string way;                   // how the gradients travel, in words
  StepCost cost;                     // with the computing of the first process
  std::int64_t rounds_added = 2;     // of cost.rounds, those within the reduction

  double tokens_per_second() const { return 1e3 * static_cast<double>(tokens) / step_milliseconds; }
  // The share of the reduction, measured alone, that is done while the slowest process computes.
  double hidden() const;
  Network network() const;  // between the processes measured, two or more
};

// Measures steps of settings' model after some steps that do not count. Unlike in a training, each
// process has training.batch x training.accumulation rows, so that its work does not depend on
// their number. Every process makes the same call; they must be on one machine, whose clock they
// share.
ScalingTimes measure_scaling(const Settings& settings, const ComputePlan& plan,
                             Processes& processes, std::int64_t steps);

}  // namespace roformer
