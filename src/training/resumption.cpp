#include "training/resumption.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <iterator>
#include <memory>
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
      throw;  // the checkpoint may be whole
    } catch (const Error& problem) {
      if (std::next(folder) == all.rend()) {
        throw_failure(problem.parts().location, problem.parts().message,
                      "there is no earlier checkpoint: start over with --overwrite or, if "
                      "model.safetensors is whole, start a new run from it with --model.from");
      }
      log::warn("{}; going back to {}: later steps are repeated", problem.what(),
                std::next(folder)->string());
      set_checkpoint_aside(resumption.run.checkpoints(), folder->filename().string());
      continue;
    }
    // A whole checkpoint that does not fit this model is an error; it is not set aside.
    TrainingState state = load_checkpoint(*folder, {resumption.parameters, moments, average});
    if (state.seed != resumption.seed) {
      throw_failure(folder->string(),
                    fmt::format("was made with seed {}, not {}", state.seed, resumption.seed));
    }
    log::info("resuming from step {}", format_count(state.consumed.steps));
    return state;
  }
  log::info("the run has no checkpoint: it starts from the beginning");
  return {.seed = resumption.seed};
}

// By the present settings, which may request a longer training than before.
bool has_ended(const TrainingSummary& summary, const TrainingSettings& settings) {
  if (summary.reason == StopReason::finished) return reached(settings.steps, summary.consumed);
  if (summary.reason != StopReason::patience || settings.patience == 0) return false;
  const ValidationRecord* const best = summary.best();
  const std::int64_t waited =
      best == nullptr ? std::ssize(summary.validations) : &summary.validations.back() - best;
  return waited >= settings.patience;
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
  if (processes.first()) {
    const std::shared_ptr<void> busy = processes.busy();
    state = read_last_whole(resumption, moments, average);
    complete_validations(state, resumption.run.metrics());
  }
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

std::optional<TrainingSummary> ended_before(const RunDirectory& run,
                                            const TrainingSettings& settings, std::int64_t step,
                                            Processes& processes) {
  if (!run.resumed() || settings.keep_last > 0) return std::nullopt;
  std::optional<TrainingSummary> summary;
  try {
    if (processes.first()) summary = read_training_summary(run.path());
  } catch (const Error& problem) {
    log::warn("{}", problem.what());
  }
  const std::array<double, 1> own = {
      summary && summary->consumed.steps > step && has_ended(*summary, settings) ? 1.0 : 0.0};
  if (gather_numbers(processes, own)[0][0] == 0) return std::nullopt;
  if (!processes.first()) return TrainingSummary();
  log::info("{} is finished, but has no final checkpoint to continue from", run.path().string());
  return summary;
}

}  // namespace roformer
