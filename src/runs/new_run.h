// Makes runs that were not trained. Their one checkpoint holds imported weights or the average of
// several checkpoints of a run (Vaswani 2017, 6.1).
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
  const Settings& settings;  // run and runs name the folder
  const std::vector<NamedTensor>& tensors;
  const TrainingState& state;  // seed and length of the training that made the weights
  nlohmann::json data;         // for run.json: the source of the weights
  // Adds the other files of a checkpoint, such as the tokenizer.
  std::function<void(const InnerPath& checkpoint)> save_assets;
};

// Returns the folder of the new run. Throws Error: usage if a run exists that may not be
// overwritten (`otherwise` names the user's alternative), failure if a file cannot be written; the
// overwritten run is then restored.
std::filesystem::path write_new_run(const NewRun& run, ExistingRun existing,
                                    const std::string& otherwise);

struct AverageOptions {
  std::filesystem::path run;
  std::int64_t count = 5;
  bool best = false;             // the best by validation; false: the last
  std::filesystem::path output;  // the run to make
  ExistingRun existing = ExistingRun::refuse;
};

// Averages the weights that the run's training.weights names. Each parameter becomes its mean over
// the checkpoints, summed in double. Returns the checkpoints. Throws Error: usage if there are
// fewer checkpoints than asked for, failure for damaged ones.
std::vector<std::filesystem::path> average_run(const AverageOptions& options);

}  // namespace roformer
