#include "experiments/trials.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/few_of.h"
#include "base/log.h"
#include "experiments/training_run.h"
#include "training/run_directory.h"

namespace roformer {
namespace {

using State = TrainingRunStatus::State;
using Labels = std::vector<std::string>;

// The run's values of the axes.
Labels values_of(const StudySettings& study, const StudyRun& run, const Labels& keys) {
  Labels labels;
  for (std::size_t axis = 0; axis < study.axes.size(); ++axis) {
    const bool named = std::ranges::find(keys, study.axes[axis].key) != keys.end();
    if (named) labels.push_back(run.values[axis]);
  }
  return labels;
}

}  // namespace

bool is_taken(const StudyRun& trial, const RecordedTrials& recorded) {
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
  // The results of run_trainings also say how an attempt failed, which no file does.
  auto next = std::make_move_iterator(tried.results.begin());
  std::vector<RunResult> results;
  for (const StudyRun& trial : trials.runs) {
    const bool mine = std::ranges::count(own.runs, trial.name, &StudyRun::name) > 0;
    results.push_back(mine ? RunResult(*next++) : recorded.at(trial.name));
  }
  tried.results = std::move(results);
  return tried;
}

StudySettings with_trials_at_hand(const StudySettings& study, const RecordedTrials& recorded) {
  if (study.version == 0 || !study.tuning) return study;
  const StudySettings& all = *study.tuning->study;
  const Labels& per = study.tuning->per;
  std::map<Labels, std::vector<std::string>> made;  // existing runs, by their choice
  for (const StudyRun& run : study.runs) {
    if (!is_run(run_folder(run))) continue;
    made[values_of(study, run, per)].push_back(run.name);
  }
  std::set<Labels> begun, finished;
  for (const StudyRun& trial : all.runs) {
    const Labels who = values_of(all, trial, per);
    const bool known = trial.asked || (is_taken(trial, recorded) && made.contains(who));
    const State state = known ? State::finished : training_status(trial).state;
    if (state == State::refused) continue;
    (state == State::finished ? finished : begun).insert(who);
  }
  const auto missing = [&](const Labels& who) {
    return begun.contains(who) || !finished.contains(who);
  };
  std::vector<std::string> lost;
  for (const auto& [who, runs] : made) {
    if (missing(who)) lost.insert(lost.end(), runs.begin(), runs.end());
  }
  if (!lost.empty()) {
    log::warn(
        "{}: not in the tables, as trials of their tuning are missing, damaged or made with other "
        "settings: {}",
        study.folder.string(), few_of(lost));
  }
  StudySettings result = study;
  StudySettings trials = all;
  std::erase_if(trials.runs,
                [&](const StudyRun& trial) { return missing(values_of(all, trial, per)); });
  std::erase_if(result.runs,
                [&](const StudyRun& run) { return missing(values_of(study, run, per)); });
  result.tuning->study = std::make_shared<const StudySettings>(std::move(trials));
  return result;
}

StudySettings with_runs_at_hand(const StudySettings& study) {
  if (study.version == 0) return study;
  StudySettings result = study;
  std::erase_if(result.runs, [&](const StudyRun& run) {
    if (run.asked) return false;
    const State state = training_status(run).state;
    // If every tuned value diverged, there is no run, but a row that says so.
    const bool untunable = study.tuning && state == State::refused && run.chosen.empty();
    return state != State::finished && state != State::begun && !untunable;
  });
  return result;
}

}  // namespace roformer
