// A checkpoint is a folder, checkpoints/step-00001000/, with everything that resuming needs:
// model.safetensors, optimizer.safetensors, state.json, the configuration and the task's assets,
// and with training.ema the moving average of the weights as a second model, ema.safetensors. It is
// written beside its place, synced and renamed, so that it is either whole or missing.
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

// Writes checkpoints/step-N/ for state.consumed.steps; `add_files` puts more into the folder. If
// that step is saved already, only its state is replaced, which a later validation has changed.
// Throws Error (failure) when anything cannot be written; nothing stays then.
void save_checkpoint(const InnerPath& checkpoints, const CheckpointParts& parts,
                     const TrainingState& state,
                     const std::function<void(const InnerPath&)>& add_files);

// The same with weights only, which were not trained here. Training cannot resume from it;
// everything else works.
void save_weights(const InnerPath& checkpoints, std::span<const NamedTensor> weights,
                  const TrainingState& state,
                  const std::function<void(const InnerPath&)>& add_files);

// Throws Error (failure) naming a file of the checkpoint that is missing or not whole. Any model
// passes; load_checkpoint compares it with the one at hand.
void require_whole(const std::filesystem::path& checkpoint);

// Throws Error (failure) naming a file and tensors that are not as they were written. Checks what a
// model is opened from: everything except the optimiser's moments.
void require_sound(const std::filesystem::path& checkpoint);

// Fills parameters, moments and average and returns the state. An average that the checkpoint lacks
// starts at its weights, which the log says. Checks everything before it changes anything; throws
// Error (failure) with one line.
TrainingState load_checkpoint(const std::filesystem::path& checkpoint,
                              const CheckpointParts& parts);

// Fills the parameters only, for evaluation. `path` as Safetensors takes it.
void load_parameters(const std::filesystem::path& path, ParameterStore& parameters);

// The file with these weights of a checkpoint. Throws Error (usage) where it has no average.
std::filesystem::path weights_file(const std::filesystem::path& checkpoint, WeightsKind weights);
bool has_average(const std::filesystem::path& checkpoint);

// The checkpoint folders in `checkpoints`, whole ones only, by rising step.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& checkpoints);

// Those among them whose validation counts, best first, the older of equals first. Throws Error
// (failure) where the state of one cannot be read, since it may be the best. `otherwise` is a hint
// at another way.
std::vector<std::filesystem::path> best_checkpoints(const std::filesystem::path& checkpoints,
                                                    const std::string& otherwise);

// The checkpoint of a run: `which` is "best" (by validation; the last where none was validated),
// "last" or a step. A checkpoint's folder is returned as it is. Throws Error.
std::filesystem::path find_checkpoint(const std::filesystem::path& run_or_checkpoint,
                                      const std::string& which = "best");

// True where a checkpoint has disappeared: the running training has removed it.
bool has_gone(const std::filesystem::path& checkpoint);

// Finds the checkpoint, checks it (require_sound) and returns use(its folder). Where a running
// training removes it meanwhile, finds it again.
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
// Removes all but the last and the best ones. The very last stays until the training has ended.
void prune_checkpoints(const InnerPath& checkpoints, const KeptCheckpoints& kept);

// Renames a damaged checkpoint to NAME.damaged, so that its step can be saved again.
void set_checkpoint_aside(const InnerPath& checkpoints, const std::string& name);

// Removes checkpoints that a killed process left half-written.
void remove_partial_checkpoints(const InnerPath& checkpoints);

}  // namespace roformer
