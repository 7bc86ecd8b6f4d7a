#include "experiments/trainings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "base/directory_lock.h"
#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "base/log.h"
#include "config/dump.h"
#include "experiments/evaluations.h"
#include "experiments/training_run.h"
#include "experiments/tuning.h"
#include "training/run_directory.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kFlag = "--shard";

bool read_number(const std::string& text, std::int64_t& value) {
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

std::int64_t array_variable(const std::string& name, const Environment& environment) {
  const auto text = environment(name);
  if (!text) {
    throw_usage(kFlag, "slurm: " + name + " is not set: this is no job of a Slurm array",
                "sbatch --array=1-8, or say which shard this is: --shard 2/8");
  }
  std::int64_t value = 0;
  if (!read_number(*text, value)) throw_usage(name, "is \"" + *text + "\", not an integer");
  return value;
}

// Array indices need not begin at 1 or be consecutive, but must be evenly spaced.
StudyShard slurm_shard(const Environment& environment) {
  const std::int64_t index = array_variable("SLURM_ARRAY_TASK_ID", environment);
  const std::int64_t first = array_variable("SLURM_ARRAY_TASK_MIN", environment);
  const std::int64_t last = array_variable("SLURM_ARRAY_TASK_MAX", environment);
  const std::int64_t count = array_variable("SLURM_ARRAY_TASK_COUNT", environment);
  const std::int64_t step = count > 1 ? (last - first) / (count - 1) : 1;
  const bool evenly = count > 0 && step > 0 && first + step * (count - 1) == last &&
                      index >= first && index <= last && (index - first) % step == 0;
  if (!evenly) {
    throw_usage(kFlag,
                "slurm: the indices of the array are not evenly spaced (" + std::to_string(count) +
                    " from " + std::to_string(first) + " to " + std::to_string(last) + ")",
                "sbatch --array=1-8, or say which shard this is: --shard 2/8");
  }
  return {.number = (index - first) / step + 1, .count = count};
}

using State = TrainingRunStatus::State;

std::vector<TrainingRunStatus> look_at(const StudySettings& study) {
  std::vector<TrainingRunStatus> statuses;
  for (const StudyRun& run : study.runs) statuses.push_back(training_status(run));
  return statuses;
}

void refuse_changes(const StudySettings& study, const std::vector<TrainingRunStatus>& statuses) {
  std::vector<std::string> changes;
  std::size_t other = 0, damaged = 0;
  for (const TrainingRunStatus& status : statuses) {
    if (status.state != State::changed) continue;
    ++(status.damaged ? damaged : other);
    for (const std::string& change : status.changes) add_once(changes, change);
  }
  if (other + damaged == 0) return;
  const auto some = [&](std::size_t count, const char* one, const char* several) {
    return fmt::format("{} of {} runs {}", count, study.runs.size(), count == 1 ? one : several);
  };
  std::vector<std::string> problems;
  if (other > 0) {
    problems.push_back(
        some(other, "was made with other settings", "were made with other settings"));
  }
  if (damaged > 0) problems.push_back(some(damaged, "is damaged", "are damaged"));
  throw_usage(study.folder.string(),
              fmt::format("{}: {}", fmt::join(problems, " and "), few_of(changes)),
              "--overwrite replaces these runs, --run NAME makes another study");
}

std::vector<std::string> training_arguments(const StudyRun& run, const TrainingRunStatus& status,
                                            const fs::path& config) {
  std::vector<std::string> arguments{"train", config.string()};
  if (status.state == State::begun) {
    const std::vector<std::string> flags = resuming_flags(run);
    arguments.insert(arguments.end(), flags.begin(), flags.end());
  }
  if (status.state == State::changed) arguments.push_back("--overwrite");
  return arguments;
}

// Throws Error (usage) if the run has since been made with other settings, unless `overwrite`
// allows to replace it.
Claim claim_training(const StudyRun& run, bool overwrite, ChildProcess::Command& command) {
  std::shared_ptr<DirectoryLock> lock;
  try {
    const InnerPath study = InnerPath::named(run.settings.runs);
    const InnerPath folder = study / "claims" / run.name;
    folder.make_folder();
    lock = std::make_shared<DirectoryLock>(folder);
    // The training of a killed study may still be ending, or someone may have resumed the run.
    if (is_run(run_folder(run))) const DirectoryLock nobody(study / run.settings.run);
    recover_training(run);
    const TrainingRunStatus status = training_status(run);
    if (status.state == State::finished) return {};
    if (status.state == State::changed && !overwrite) {
      throw_usage(run_folder(run).string(),
                  "was made with other settings since, or is damaged: " + few_of(status.changes),
                  "--overwrite replaces it");
    }
    (study / run.settings.run).require_plain();  // it is the study's, which the user named
    const InnerPath config = study / "configs" / (run.name + ".yaml");
    write_file_atomically(config, dump(run.settings, DumpStyle::compact));
    command.arguments = training_arguments(run, status, config);
    return {.held = std::move(lock), .holder = ""};
  } catch (const DirectoryInUse& problem) {
    return {.held = nullptr, .holder = problem.parts().message, .leaves = lock != nullptr};
  }
}

// The shard that trained a run evaluates it at once, so that an interrupted study has complete
// rows.
std::vector<Job> evaluations_after(const StudySettings& study, const StudyRun& run,
                                   const std::string& program) {
  try {
    return evaluation_jobs(study, run, program);
  } catch (const Error&) {  // evaluate_lengths tries again and reports it
    return {};
  }
}

Job training_job(const StudySettings& study, const StudyRun& run, const TrainingOptions& options) {
  Job job{.name = run.name,
          .command = {.program = options.program,
                      .output = InnerPath::named(run.settings.runs) / "logs" / (run.name + ".txt")},
          .progress = [&run] { return training_progress(run); },
          .claim =
              [&](ChildProcess::Command& command) {
                return claim_training(run, options.overwrite, command);
              }};
  if (!study.evaluations.lengths.empty()) {
    job.then = [&] { return evaluations_after(study, run, options.program); };
    job.followers = expected_evaluations(study, run);
  }
  return job;
}

// A protocol makes only the runs that the command asks for.
bool is_asked(const StudySettings& study, std::size_t run) {
  return study.version == 0 || study.runs[run].asked;
}

// The indices of the runs to be made now.
std::vector<std::size_t> due_runs(const StudySettings& study,
                                  const std::vector<TrainingRunStatus>& statuses,
                                  const StudyShard& shard) {
  std::vector<std::size_t> due;
  std::size_t asked = 0;  // counts no other runs: their number changes while shards are at work
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    if (!is_asked(study, i)) continue;
    if (shard.takes(asked++) && !is_settled(statuses[i])) due.push_back(i);
  }
  return due;
}

void fail(RunResult& result, const std::string& remark) {
  result = {.name = result.name,
            .values = result.values,
            .state = RunResult::State::failed,
            .remark = remark,
            .record = result.record};
}

// A run that failed now may have results of an earlier attempt with other settings.
bool put_failure(const StudyRun& run, const JobOutcome& ended, RunResult& result) {
  if (ended.end != JobOutcome::End::failed) return false;
  const TrainingRunStatus now = training_status(run);
  if (now.state == State::finished && now.diverged) return false;
  fail(result, ended.reason);
  return true;
}

// Another process may have replaced a run since then: its figures come from other settings.
bool put_change(const StudyRun& run, RunResult& result) {
  const TrainingRunStatus now = training_status(run);
  if (now.state != State::changed || result.state == RunResult::State::failed) return false;
  fail(result, "made with other settings since, or damaged: " + few_of(now.changes));
  return true;
}

// The number of runs that other shards must finish.
std::size_t runs_of_others(const StudySettings& study, const std::vector<RunResult>& results) {
  const std::vector<TrainingRunStatus> now = look_at(study);
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    waiting +=
        is_asked(study, i) && !is_settled(now[i]) && results[i].state != RunResult::State::failed;
  }
  return waiting;
}

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

StudyShard parse_shard(const std::string& text, const Environment& environment) {
  if (text == "slurm") return slurm_shard(environment);
  StudyShard shard;
  const std::size_t slash = text.find('/');
  const bool read = slash != std::string::npos &&
                    read_number(text.substr(0, slash), shard.number) &&
                    read_number(text.substr(slash + 1), shard.count);
  if (!read || shard.number < 1 || shard.number > shard.count) {
    throw_usage(kFlag, "\"" + text + "\" is neither slurm nor K/N with K from 1 to N",
                "--shard 2/8 is the second of eight");
  }
  return shard;
}

Trainings run_trainings(const StudySettings& study, const TrainingOptions& options) {
  const fs::path folder = study.runs.front().settings.runs;
  (InnerPath::named(folder) / "configs").make_folder();
  (InnerPath::named(folder) / "logs").make_folder();
  for (const StudyRun& run : study.runs) recover_training(run);
  const std::vector<TrainingRunStatus> statuses = look_at(study);
  if (!options.overwrite) refuse_changes(study, statuses);
  const auto before = static_cast<std::size_t>(std::ranges::count_if(statuses, is_settled));
  if (before > 0) {
    log::info("{}: {} of {} runs are already settled", folder.string(), before, study.runs.size());
  }
  const bool whole = options.shard.whole();
  const std::vector<std::size_t> due = due_runs(study, statuses, options.shard);
  std::vector<Job> jobs;
  for (const std::size_t i : due) jobs.push_back(training_job(study, study.runs[i], options));
  // A shard does not wait for the runs of others. The last shard draws the table.
  const JobOutcomes outcomes =
      run_jobs(jobs, {.parallel = options.parallel, .finished = whole ? before : 0, .wait = whole});
  Trainings trainings{.signal = outcomes.signal};
  if (trainings.signal != 0) return trainings;
  for (const StudyRun& run : study.runs) trainings.results.push_back(training_result(run));
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    trainings.failed +=
        put_failure(study.runs[due[job]], outcomes.outcomes[job], trainings.results[due[job]]);
  }
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    trainings.failed += put_change(study.runs[i], trainings.results[i]);
  }
  for (const auto& [name, outcome] : outcomes.following) {
    if (outcome.end != JobOutcome::End::failed) continue;
    trainings.failed_evaluations[name] = outcome.reason;
  }
  if (!whole) trainings.waiting = runs_of_others(study, trainings.results);
  return trainings;
}

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

Trainings run_trials(const StudyTuning& tuning, const RecordedTrials& recorded,
                     const TrainingOptions& options) {
  const StudySettings& trials = *tuning.study;
  Trainings tried{.results = trial_results(trials, recorded)};
  std::vector<bool> made(trials.runs.size(), false);
  while (true) {
    const std::vector<bool> needed = needed_trials(tuning, tried.results);
    StudySettings own = trials;
    own.runs.clear();
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < trials.runs.size(); ++i) {
      if (!needed[i] || made[i] || is_taken(trials.runs[i], recorded)) continue;
      made[i] = true;
      own.runs.push_back(trials.runs[i]);
      indices.push_back(i);
    }
    if (own.runs.empty()) return tried;
    // The results of run_trainings also say how an attempt failed; no file says it.
    Trainings now = run_trainings(own, options);
    tried.signal = now.signal;
    tried.failed += now.failed;
    tried.waiting = now.waiting;
    if (tried.signal != 0) return tried;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      tried.results[indices[i]] = std::move(now.results[i]);
    }
    if (tried.waiting > 0) return tried;
  }
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
  const std::vector<bool> needed = needed_trials(*study.tuning, trial_results(all, recorded));
  for (std::size_t i = 0; i < all.runs.size(); ++i) {
    const StudyRun& trial = all.runs[i];
    if (!needed[i]) continue;
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
    // If every tuned value diverged, there is no run but a row that says so.
    const bool untunable = study.tuning && state == State::refused && run.chosen.empty();
    return state != State::finished && state != State::begun && !untunable;
  });
  return result;
}

}  // namespace roformer
