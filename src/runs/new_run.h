// A run that no training made: its one checkpoint holds weights that come from elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/inner_path.h"
#include "config/settings.h"
#include "tensor/safetensors.h"
#include "training/run_directory.h"
#include "training/training_state.h"

namespace roformer {

struct NewRun {
  const Settings& settings;  // run and runs say where it is to be
  const std::vector<NamedTensor>& tensors;
  const TrainingState& state;  // its seed, and what of training is in the weights
  nlohmann::json data;         // for run.json: where the weights come from
  // Puts what else a checkpoint holds, a tokenizer, into its folder.
  std::function<void(const InnerPath& checkpoint)> save_assets;
};

// Returns the folder of the run. Throws Error: usage where there is a run that is not to be
// overwritten (`otherwise` is the other way out), failure for what cannot be written; the run that
// was there is then back.
std::filesystem::path write_new_run(const NewRun& run, ExistingRun existing,
                                    const std::string& otherwise);

// The average of several checkpoints of one run as a run of its own (Vaswani 2017, 6.1).

struct AverageOptions {
  std::filesystem::path run;
  std::int64_t count = 5;
  bool best = false;             // the best by validation; else the last
  std::filesystem::path output;  // the run to make
  ExistingRun existing = ExistingRun::refuse;
};

// Of the weights that the run's training.weights names. Returns the checkpoints that were averaged.
// Each parameter is the mean of theirs, summed in double. Throws Error: usage for fewer checkpoints
// than asked for, failure for damaged ones.
std::vector<std::filesystem::path> average_run(const AverageOptions& options);

}  // namespace roformer
