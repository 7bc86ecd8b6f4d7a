#include "experiments/trainings.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/directory_lock.h"
#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "base/log.h"
#include "config/dump.h"
#include "experiments/length_evaluations.h"
#include "experiments/training_run.h"
#include "training/run_directory.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using State = TrainingRunStatus::State;

std::vector<TrainingRunStatus> look_at(const StudySettings& study) {
  std::vector<TrainingRunStatus> statuses;
  for (const StudyRun& run : study.runs) statuses.push_back(training_status(run));
  return statuses;
}

void refuse_changes(const StudySettings& study, const std::vector<TrainingRunStatus>& statuses) {
  std::vector<std::string> changes;
  std::size_t changed = 0;
  for (const TrainingRunStatus& status : statuses) {
    if (status.state != State::changed) continue;
    ++changed;
    for (const std::string& change : status.changes) {
      if (std::find(changes.begin(), changes.end(), change) == changes.end()) {
        changes.push_back(change);
      }
    }
  }
  if (changed == 0) return;
  throw_usage(study.folder.string(),
              fmt::format("{} of {} runs were made with other settings or are damaged: {}", changed,
                          study.runs.size(), few_of(changes)),
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

// Throws Error (usage) where the run has become another's meanwhile, which only `overwrite`
// replaces.
Claim claim_training(const StudyRun& run, bool overwrite, ChildProcess::Command& command) {
  std::shared_ptr<DirectoryLock> lock;
  try {
    const InnerPath study = InnerPath::named(run.settings.runs);
    const InnerPath folder = study / "claims" / run.name;
    folder.make_folder();
    lock = std::make_shared<DirectoryLock>(folder);
    // The training of a study that was killed is still leaving, or someone goes on with the run.
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

// A run is evaluated as soon as it is trained, by the shard that has it, so that what is stopped
// leaves whole rows.
std::vector<Job> evaluations_after(const StudySettings& study, const StudyRun& run,
                                   const std::string& program) {
  try {
    return evaluation_jobs(study, run, program);
  } catch (const Error&) {  // asked for again, and told, when all are trained
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

bool is_settled(const TrainingRunStatus& status) {
  return status.state == State::finished || status.state == State::refused;
}

// Of a protocol only what is asked for is made.
bool is_asked(const StudySettings& study, std::size_t run) {
  return study.version == 0 || study.runs[run].asked;
}

// The runs to be made now, by their places.
std::vector<std::size_t> due_runs(const StudySettings& study,
                                  const std::vector<TrainingRunStatus>& statuses,
                                  const StudyShard& shard) {
  std::vector<std::size_t> due;
  std::size_t asked = 0;  // what others have made of a protocol changes while shards are at work
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    if (!is_asked(study, i)) continue;
    if (shard.takes(asked++) && !is_settled(statuses[i])) due.push_back(i);
  }
  return due;
}

// What an earlier attempt of a run left that failed now is not what its settings came to.
bool put_failure(const StudyRun& run, const JobOutcome& ended, RunResult& result) {
  if (ended.end != JobOutcome::End::failed) return false;
  const TrainingRunStatus now = training_status(run);
  if (now.state == State::finished && now.diverged) return false;
  result = {.name = result.name,
            .values = result.values,
            .state = RunResult::State::failed,
            .remark = ended.reason,
            .record = result.record};
  return true;
}

// Another process may have replaced a run since it was looked at: its figures are of other
// settings.
bool put_change(const StudyRun& run, RunResult& result) {
  const TrainingRunStatus now = training_status(run);
  if (now.state != State::changed || result.state == RunResult::State::failed) return false;
  result = {.name = result.name,
            .values = result.values,
            .state = RunResult::State::failed,
            .remark = "made with other settings since, or damaged: " + few_of(now.changes),
            .record = result.record};
  return true;
}

// The runs that other shards are still to finish.
std::size_t runs_of_others(const StudySettings& study, const std::vector<RunResult>& results) {
  const std::vector<TrainingRunStatus> now = look_at(study);
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    waiting +=
        is_asked(study, i) && !is_settled(now[i]) && results[i].state != RunResult::State::failed;
  }
  return waiting;
}

}  // namespace

Trainings run_trainings(const StudySettings& study, const TrainingOptions& options) {
  const fs::path folder = study.runs.front().settings.runs;
  (InnerPath::named(folder) / "configs").make_folder();
  (InnerPath::named(folder) / "logs").make_folder();
  for (const StudyRun& run : study.runs) recover_training(run);
  const std::vector<TrainingRunStatus> statuses = look_at(study);
  if (!options.overwrite) refuse_changes(study, statuses);
  const auto before = static_cast<std::size_t>(std::ranges::count_if(statuses, is_settled));
  if (before > 0) {
    log::info("{}: {} of {} runs need no running", folder.string(), before, study.runs.size());
  }
  const bool whole = options.shard.whole();
  const std::vector<std::size_t> due = due_runs(study, statuses, options.shard);
  std::vector<Job> jobs;
  for (const std::size_t i : due) jobs.push_back(training_job(study, study.runs[i], options));
  // A shard leaves what others are at to them, and to the last of them the table.
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

}  // namespace roformer
