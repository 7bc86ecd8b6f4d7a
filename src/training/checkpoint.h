// A checkpoint is a folder, checkpoints/step-00001000/, with everything that resuming needs:
// model.safetensors, optimizer.safetensors, state.json, the configuration and the task's assets.
// With training.ema it also has the moving average of the weights as a second model,
// ema.safetensors. The folder is written under another name, synced and renamed, so that it is
// either complete or missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/inner_path.h"
#include "config/training_settings.h"
#include "tensor/safetensors.h"
#include "training/optimizer.h"
#include "training/training_state.h"

namespace roformer {

struct CheckpointParts {
  ParameterStore& parameters;
  Moments moments;          // loading fills these tensors
  at::Tensor average = {};  // [trained numbers], laid out as flat_values(); undefined: none is kept
};

// Writes checkpoints/step-N/ for state.consumed.steps; `add_files` adds files to the folder. If
// that step is saved already, replaces only its state, since a later validation has changed it.
// Throws Error (failure) if anything cannot be written, and then leaves no folder.
void save_checkpoint(const InnerPath& checkpoints, const CheckpointParts& parts,
                     const TrainingState& state,
                     const std::function<void(const InnerPath&)>& add_files);

// The same with weights only, for weights from another program. Training cannot resume from it;
// everything else works.
void save_weights(const InnerPath& checkpoints, std::span<const NamedTensor> weights,
                  const TrainingState& state,
                  const std::function<void(const InnerPath&)>& add_files);

// Throws Error (failure) naming a missing or incomplete file of the checkpoint. Accepts any model;
// load_checkpoint compares the model with the caller's.
void require_whole(const std::filesystem::path& checkpoint);

// Throws Error (failure) naming a file and the tensors that differ from the written ones. Checks
// everything that opening a model reads, so all but the optimiser's moments.
void require_sound(const std::filesystem::path& checkpoint);

// Fills parameters, moments and average and returns the state. If the checkpoint lacks the average,
// the average starts at its weights and the log says so. Checks everything before it changes
// anything. Throws Error (failure) with one line.
TrainingState load_checkpoint(const std::filesystem::path& checkpoint,
                              const CheckpointParts& parts);

// Fills only the parameters, for evaluation. `path` has the same meaning as for Safetensors.
void load_parameters(const std::filesystem::path& path, ParameterStore& parameters);

// The file with these weights of a checkpoint. Throws Error (usage) if the checkpoint has no
// average.
std::filesystem::path weights_file(const std::filesystem::path& checkpoint, WeightsKind weights);
bool has_average(const std::filesystem::path& checkpoint);

// The complete checkpoint folders in `checkpoints`, by ascending step.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& checkpoints);

// The checkpoints with a valid validation, best first; the older of equals comes first. Throws
// Error (failure) if the state of one cannot be read, since it may be the best. `otherwise` is a
// hint at another way.
std::vector<std::filesystem::path> best_checkpoints(const std::filesystem::path& checkpoints,
                                                    const std::string& otherwise);

// The checkpoint of a run. `which` is "best" (by validation; the last if none was validated),
// "last" or a step. The folder of a checkpoint is returned unchanged. Throws Error.
std::filesystem::path find_checkpoint(const std::filesystem::path& run_or_checkpoint,
                                      const std::string& which = "best");

// True if a checkpoint has disappeared because the running training removed it.
bool has_gone(const std::filesystem::path& checkpoint);

// Finds the checkpoint, checks it (require_sound) and returns use(its folder). Repeats this if a
// running training removes the checkpoint in the meantime.
template <typename Use>
auto use_checkpoint(const std::filesystem::path& run_or_checkpoint, const std::string& which,
                    Use use) {
  constexpr int kAttempts = 5;
  for (int attempt = 1;; ++attempt) {
    const std::filesystem::path folder = find_checkpoint(run_or_checkpoint, which);
    try {
      require_sound(folder);
      return use(folder);
    } catch (const Error&) {
      if (!has_gone(folder) || folder == run_or_checkpoint || attempt == kAttempts) throw;
    }
  }
}

struct KeptCheckpoints {
  std::int64_t last = 1;
  std::int64_t best = 1;
  bool ended = false;  // training will not resume from the last one
};
// Removes all but the last and the best ones. The newest stays until the training has ended.
void prune_checkpoints(const InnerPath& checkpoints, const KeptCheckpoints& kept);

// Renames a damaged checkpoint to NAME.damaged, so that its step can be saved again.
void set_checkpoint_aside(const InnerPath& checkpoints, const std::string& name);

// Removes unfinished checkpoints of a killed process.
void remove_partial_checkpoints(const InnerPath& checkpoints);

}  // namespace roformer
