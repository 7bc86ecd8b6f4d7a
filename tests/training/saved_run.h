// A run of the toy task with checkpoints that no training wrote.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "training/checkpoint.h"
#include "training/run_directory.h"
#include "training/toy_task.h"

namespace roformer {

inline void begin_run(const std::filesystem::path& path) {
  const RunDirectory run(path, ExistingRun::refuse);
  write_file_atomically(run.config(), "seed: 1\n");
}

// Saves the toy's parameters as the checkpoint of a step with this validation loss.
inline void save(const std::filesystem::path& run, std::int64_t step, std::optional<double> loss) {
  ToyTask task;
  Optimizer optimizer(task.parameters(), {});
  TrainingState state;
  state.consumed.steps = step;
  if (loss) {
    state.validations.push_back({.step = step});
    state.validations.back().figures["loss"] = *loss;
  }
  save_checkpoint(run / "checkpoints", {task.parameters(), optimizer.moments()}, state,
                  [](const std::filesystem::path&) {});
}

inline std::vector<std::string> names(const std::filesystem::path& run) {
  std::vector<std::string> names;
  for (const std::filesystem::path& folder : list_checkpoints(run / "checkpoints")) {
    names.push_back(folder.filename().string());
  }
  return names;
}

}  // namespace roformer
