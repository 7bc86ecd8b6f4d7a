#include "experiments/trials.h"

#include <algorithm>
#include <utility>

#include "experiments/training_run.h"

namespace roformer {

bool is_taken(const StudyRun& trial, const RecordedTrials& recorded) {
  using State = TrainingRunStatus::State;
  if (!recorded.contains(trial.name)) return false;
  const State state = training_status(trial).state;
  return state == State::waiting || state == State::begun;
}

std::vector<RunResult> trial_results(const StudySettings& trials, const RecordedTrials& recorded) {
  std::vector<RunResult> results;
  for (const StudyRun& trial : trials.runs) {
    results.push_back(is_taken(trial, recorded) ? recorded.at(trial.name) : training_result(trial));
  }
  return results;
}

Trainings run_trials(const StudySettings& trials, const RecordedTrials& recorded,
                     const TrainingOptions& options) {
  StudySettings own = trials;
  std::erase_if(own.runs, [&](const StudyRun& trial) { return is_taken(trial, recorded); });
  Trainings tried;
  if (!own.runs.empty()) tried = run_trainings(own, options);
  if (tried.signal != 0) return tried;
  // run_trainings knows more of its own than lies there: how an attempt failed.
  auto next = std::make_move_iterator(tried.results.begin());
  std::vector<RunResult> results;
  for (const StudyRun& trial : trials.runs) {
    const bool mine = std::ranges::count(own.runs, trial.name, &StudyRun::name) > 0;
    results.push_back(mine ? RunResult(*next++) : recorded.at(trial.name));
  }
  tried.results = std::move(results);
  return tried;
}

}  // namespace roformer
