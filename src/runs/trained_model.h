// A model as training left it: the settings, tokenizer and weights of one checkpoint of a run.
// Options that leave the parameters as they are (a frequency scaling, a window, another scheme
// without parameters) may be changed when it is opened, to be tried on the same weights
// (shared_options.h).
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
  // Which weights of it; none: the run's training.weights. An average that it has and that is not
  // used is mentioned.
  std::optional<WeightsKind> weights;
  std::vector<Override> overrides;
  // The same overrides are for other runs, too: one may be an option of their schemes only.
  bool among_others = false;
};

// The task of a run. Throws Error (failure) for what is no run.
const TaskDefinition& definition_of_run(const std::filesystem::path& run_or_checkpoint,
                                        const std::string& checkpoint = "best");

// The overrides that say how a model computes and not what it is. A second model takes these of the
// first one's flags.
std::vector<Override> computing_overrides(const std::vector<Override>& overrides);

// True for position.*, attention.*, decoding.*, device, threads and training.precision.
bool may_change_when_trained(const std::string& key);

// Opens the best checkpoint of a run, or another one, and prepares the threads. Throws Error:
// failure for what is no whole run, usage for an override of another key, for one that changes the
// model's parameters, and for a run that does not hold what `noun` says (a definition's).
OpenedRun open_run(const std::filesystem::path& run_or_checkpoint,
                   const TrainedModelOptions& options = {}, std::string_view noun = {});
template <class Model>
RunOf<Model> open_run_of(const std::filesystem::path& run_or_checkpoint,
                         const TrainedModelOptions& options = {},
                         std::string_view noun = Model::kNoun) {
  return RunOf<Model>(open_run(run_or_checkpoint, options, noun));
}

}  // namespace roformer
