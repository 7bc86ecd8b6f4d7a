// Opens a trained model: the settings, tokenizer and weights of one checkpoint of a run. The caller
// may change options that leave the parameters alone (a frequency scaling, a window, another scheme
// without parameters) to try them on the same weights (shared_options.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/assignment.h"
#include "tasks/task_definition.h"

namespace roformer {

struct TrainedModelOptions {
  std::string checkpoint = "best";  // or "last" or a step
  // The weights to use; none: the run's training.weights. A message mentions an average that the
  // checkpoint has but that is not used.
  std::optional<WeightsKind> weights;
  std::vector<Override> overrides;
  // Products of weights rounded to eight bits, on a CPU in fp32 unless the overrides contradict,
  // which is refused. The parameters then stay in their file.
  bool int8 = false;
  // The overrides also apply to other runs, so an override may be an option of another scheme.
  bool among_others = false;
};

// The task of a run. Throws Error (failure) if the folder is no run.
const TaskDefinition& definition_of_run(const std::filesystem::path& run_or_checkpoint,
                                        const std::string& checkpoint = "best");

// The overrides that say how a model computes rather than what it is. A second model takes these
// from the first model's flags.
std::vector<Override> computing_overrides(const std::vector<Override>& overrides);

// True for position.*, attention.*, decoding.*, device, threads, training.precision and the keys
// that say how to read a file (Key::of_file).
bool may_change_when_trained(const std::string& key);

// A trained model computes in fp32 unless training.precision is among the overrides, so that the
// same weights give the same figures on every machine. The precision that a training chooses for
// its speed (auto) is no part of the model.
ComputePlan plan_for_use(const Settings& settings, const std::vector<Override>& overrides);

// Opens the best or the requested checkpoint of a run and sets the number of threads. Throws Error:
// failure for an incomplete run; usage for an override of any other key, for an override that
// changes the model's parameters, and for a run that is not what `noun` (of a task definition)
// says.
OpenedRun open_run(const std::filesystem::path& run_or_checkpoint,
                   const TrainedModelOptions& options = {}, std::string_view noun = {});
template <class Model>
RunOf<Model> open_run_of(const std::filesystem::path& run_or_checkpoint,
                         const TrainedModelOptions& options = {},
                         std::string_view noun = Model::kNoun) {
  return RunOf<Model>(open_run(run_or_checkpoint, options, noun));
}

}  // namespace roformer
