// A checkpoint is a folder, checkpoints/step-00001000/, that holds all that continuing needs:
// model.safetensors, optimizer.safetensors, state.json, the configuration and the task's assets,
// and with training.ema the moving average of the weights, ema.safetensors, as a second model. It
// is written beside its place, synced and renamed: whole or not there.
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
  Moments moments;          // share their memory with what is read, as the average does
  at::Tensor average = {};  // [trained numbers], as flat_values(), where one is kept
};

// Writes checkpoints/step-N/ for state.consumed.steps; `add_files` puts more into the folder. Where
// that step is saved already, only its state is replaced (a validation that came after).
// Throws Error (failure) when anything cannot be written; then nothing of it is left.
void save_checkpoint(const InnerPath& checkpoints, const CheckpointParts& parts,
                     const TrainingState& state,
                     const std::function<void(const InnerPath&)>& add_files);

// The same with weights alone, which were not trained here: nothing to go on from, all else works.
void save_weights(const InnerPath& checkpoints, std::span<const NamedTensor> weights,
                  const TrainingState& state,
                  const std::function<void(const InnerPath&)>& add_files);

// Throws Error (failure) naming the file of the checkpoint that is missing or not whole. Whose
// model it is of does not matter here; load_checkpoint compares that.
void require_whole(const std::filesystem::path& checkpoint);

// Throws Error (failure) naming the file and the tensors where what a model is opened from (all
// but the optimiser's moments) is not what was written.
void require_sound(const std::filesystem::path& checkpoint);

// Fills parameters, moments and average and returns the state; an average that the checkpoint does
// not have begins at its weights, and a line says so. Everything is checked before anything is
// changed; throws Error (failure) with one line.
TrainingState load_checkpoint(const std::filesystem::path& checkpoint,
                              const CheckpointParts& parts);

// Fills the parameters only, for evaluation. `path` as Safetensors takes it.
void load_parameters(const std::filesystem::path& path, ParameterStore& parameters);

// The file of these weights of a checkpoint. Throws Error (usage) where it has no average.
std::filesystem::path weights_file(const std::filesystem::path& checkpoint, WeightsKind weights);
bool has_average(const std::filesystem::path& checkpoint);

// The checkpoint folders below, whole ones only, by rising step.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& checkpoints);

// Of these those whose validation counts, best first, the older of equals first. Throws Error
// (failure) where the state of one cannot be read: it may be the best. `otherwise` is the hint at
// what can be done instead.
std::vector<std::filesystem::path> best_checkpoints(const std::filesystem::path& checkpoints,
                                                    const std::string& otherwise);

// The checkpoint that RUN means: `which` is "best" (by validation; the last where none was
// validated), "last" or a step. A checkpoint's own folder stands for itself. Throws Error.
std::filesystem::path find_checkpoint(const std::filesystem::path& run_or_checkpoint,
                                      const std::string& which = "best");

// True where a checkpoint that was there is not: the training that goes on has removed it.
bool has_gone(const std::filesystem::path& checkpoint);

// Finds the checkpoint, checks it (require_sound) and returns use(its folder). Where a training
// removes it meanwhile, the one that `which` means by then is taken.
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
  bool ended = false;  // nothing will go on from the last one
};
// Removes all but the last and the best ones; the very last stays while the training has not ended.
void prune_checkpoints(const InnerPath& checkpoints, const KeptCheckpoints& kept);

// Renames a damaged checkpoint to NAME.damaged, so that its step can be saved again.
void set_checkpoint_aside(const InnerPath& checkpoints, const std::string& name);

// Removes what a process that was killed left half-written.
void remove_partial_checkpoints(const InnerPath& checkpoints);

}  // namespace roformer
