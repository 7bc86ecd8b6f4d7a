#include "study/trainings.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/directory_lock.h"
#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "base/log.h"
#include "config/dump.h"
#include "study/length_evaluations.h"
#include "study/training_run.h"

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

// Null where another process has the run, or has finished it by now. Throws Error (usage) where it
// has become another run's meanwhile, which only `overwrite` replaces.
std::shared_ptr<void> claim_training(const StudyRun& run, bool overwrite,
                                     ChildProcess::Command& command) {
  try {
    const fs::path folder = run.settings.runs / "claims" / run.name;
    make_directories(folder);
    auto lock = std::make_shared<DirectoryLock>(folder);
    recover_training(run);
    const TrainingRunStatus status = training_status(run);
    if (status.state == State::finished) return nullptr;
    if (status.state == State::changed && !overwrite) {
      throw_usage(run_folder(run).string(),
                  "was made with other settings since, or is damaged: " + few_of(status.changes),
                  "--overwrite replaces it");
    }
    const fs::path config = run.settings.runs / "configs" / (run.name + ".yaml");
    write_file_atomically(config, dump(run.settings, DumpStyle::compact));
    command.arguments = training_arguments(run, status, config);
    return lock;
  } catch (const DirectoryInUse& problem) {
    log::info("{}: left alone, {}", run.name, problem.parts().message);
    return nullptr;
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
                      .output = run.settings.runs / "logs" / (run.name + ".txt")},
          .progress = [&run] { return training_progress(run); },
          .claim =
              [&](ChildProcess::Command& command) {
                return claim_training(run, options.overwrite, command);
              }};
  if (!study.evaluations.lengths.empty()) {
    job.then = [&] { return evaluations_after(study, run, options.program); };
  }
  return job;
}

// Whether the run is still to be made; of a protocol only what is asked for is made.
bool is_due(const StudySettings& study, std::size_t run, const TrainingRunStatus& status) {
  if (status.state == State::finished || status.state == State::refused) return false;
  return study.version == 0 || study.runs[run].asked;
}

// The runs to be made now, by their places.
std::vector<std::size_t> due_runs(const StudySettings& study,
                                  const std::vector<TrainingRunStatus>& statuses,
                                  const StudyShard& shard) {
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    if (is_due(study, i, statuses[i]) && shard.takes(i)) due.push_back(i);
  }
  return due;
}

// What an earlier attempt of a run left that failed now is not what its settings came to.
bool put_failure(const StudyRun& run, const JobOutcome& ended, bool whole, RunResult& result) {
  const TrainingRunStatus now = training_status(run);
  const bool done = now.state == State::finished;
  const bool left = ended.end == JobOutcome::End::claimed && whole && !done;
  const bool failed = ended.end == JobOutcome::End::failed && !(done && now.diverged);
  if (!failed && !left) return false;
  result = {.name = result.name,
            .values = result.values,
            .state = RunResult::State::failed,
            .remark = ended.reason,
            .killed = ended.killed,
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
    waiting += is_due(study, i, now[i]) && results[i].state != RunResult::State::failed;
  }
  return waiting;
}

}  // namespace

std::vector<RunResult> results_of(const StudySettings& study) {
  std::vector<RunResult> results;
  for (const StudyRun& run : study.runs) results.push_back(training_result(run));
  return results;
}

Trainings run_trainings(const StudySettings& study, const TrainingOptions& options) {
  const fs::path folder = study.runs.front().settings.runs;
  make_directories(folder / "configs");
  make_directories(folder / "logs");
  for (const StudyRun& run : study.runs) recover_training(run);
  const std::vector<TrainingRunStatus> statuses = look_at(study);
  if (!options.overwrite) refuse_changes(study, statuses);
  const auto before =
      static_cast<std::size_t>(std::ranges::count_if(statuses, [](const TrainingRunStatus& status) {
        return status.state == State::finished || status.state == State::refused;
      }));
  if (before > 0) {
    log::info("{}: {} of {} runs need no running", folder.string(), before, study.runs.size());
  }
  const bool whole = options.shard.whole();
  const std::vector<std::size_t> due = due_runs(study, statuses, options.shard);
  std::vector<Job> jobs;
  for (const std::size_t i : due) jobs.push_back(training_job(study, study.runs[i], options));
  const JobOutcomes outcomes =
      run_jobs(jobs, {.parallel = options.parallel, .finished = whole ? before : 0});
  Trainings trainings{.signal = outcomes.signal};
  if (trainings.signal != 0) return trainings;
  trainings.results = results_of(study);
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    trainings.failed += put_failure(study.runs[due[job]], outcomes.outcomes[job], whole,
                                    trainings.results[due[job]]);
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
