#include "training/resumption.h"

#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "training/checkpoint.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

TrainingState read_last_whole(const Resumption& resumption, const Moments& moments,
                              const at::Tensor& average) {
  const std::vector<fs::path> all = list_checkpoints(resumption.run.checkpoints());
  for (auto folder = all.rbegin(); folder != all.rend(); ++folder) {
    try {
      require_whole(*folder);
    } catch (const ReadError&) {
      throw;  // it may be whole: nothing is given up
    } catch (const Error& problem) {
      if (std::next(folder) == all.rend()) {
        throw_failure(problem.parts().location, problem.parts().message,
                      "there is no checkpoint before it: --overwrite begins again; where "
                      "model.safetensors is whole, a new run takes its weights with --model.from");
      }
      log::warn("{}; going back to {}: the steps since then are done again", problem.what(),
                std::next(folder)->string());
      set_checkpoint_aside(*folder);
      continue;
    }
    // What is whole but does not fit this model is no reason to give it up.
    TrainingState state = load_checkpoint(*folder, {resumption.parameters, moments, average});
    if (state.seed != resumption.seed) {
      throw_failure(folder->string(),
                    fmt::format("was made with seed {}, not {}", state.seed, resumption.seed));
    }
    log::info("resuming from step {}", format_count(state.consumed.steps));
    return state;
  }
  log::info("the run holds no checkpoint: its beginning is where it would go on");
  return {.seed = resumption.seed};
}

}  // namespace

void share_weights(ParameterStore& parameters, Processes& processes) {
  if (processes.alone()) return;
  for (const Parameter& parameter : parameters.all()) {
    if (!parameter.trained) processes.take_from_first(parameter.value.detach());
  }
  processes.take_from_first(parameters.flat_values());
}

TrainingState resume(const Resumption& resumption) {
  TrainingState state{.seed = resumption.seed};
  if (!resumption.run.resumed()) return state;
  Processes& processes = resumption.processes;
  const Moments moments = resumption.optimizer.room_for_moments();
  at::Tensor average;
  if (resumption.average != nullptr) average = resumption.average->values();
  if (processes.first()) state = read_last_whole(resumption, moments, average);
  if (!processes.alone()) {
    state = training_state_from_json(
        nlohmann::json::parse(text_of_first(processes, to_json(state).dump())),
        "the first process");
  }
  share_weights(resumption.parameters, processes);
  if (resumption.average != nullptr) resumption.average->restore(average, processes);
  resumption.optimizer.restore_moments(moments, processes);
  resumption.optimizer.restore_updates(state.optimizer_updates);
  return state;
}

}  // namespace roformer
