// Averages several checkpoints of one run into a new run (Vaswani 2017, 6.1).
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "training/run_directory.h"

namespace roformer {

struct AverageOptions {
  std::filesystem::path run;
  std::int64_t count = 5;
  bool best = false;             // the best by validation; else the last
  std::filesystem::path output;  // the run to make
  ExistingRun existing = ExistingRun::refuse;
};

// Averages the weights that the run's training.weights names. Returns the checkpoints that were
// averaged. Each parameter is the mean of theirs, summed in double. Throws Error: usage for fewer
// checkpoints than asked for, failure for damaged ones.
std::vector<std::filesystem::path> average_run(const AverageOptions& options);

}  // namespace roformer
