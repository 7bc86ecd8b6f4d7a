#include "study/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/directory_lock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "config/dump.h"
#include "config/task_facts.h"
#include "results/chosen_rows.h"
#include "results/commonest_class.h"
#include "results/study_report.h"
#include "results/target_differences.h"
#include "study/length_evaluations.h"
#include "study/protocol_runs.h"
#include "study/training_run.h"
#include "study/translations.h"
#include "study/unigram_loss.h"
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

// A few of the texts, so that a message stays one line.
std::string some_of(const std::vector<std::string>& texts) {
  constexpr std::size_t kMost = 5;
  std::string result;
  for (std::size_t i = 0; i < std::min(texts.size(), kMost); ++i) {
    result += (i == 0 ? "" : ", ") + texts[i];
  }
  if (texts.size() > kMost) result += fmt::format(" and {} more", texts.size() - kMost);
  return result;
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
                          study.runs.size(), some_of(changes)),
              "--overwrite replaces these runs, --run NAME makes another study");
}

// The report that lies there is of more runs, and would be lost. That of a protocol takes in what
// is done of its axes' values; the runs of others stay.
void refuse_subset(const StudySettings& study) {
  std::vector<std::string> others;
  for (const fs::path& run : runs_in(study_folder(study))) {
    std::error_code error;
    const std::string name = run.filename().string();
    const bool ours = std::any_of(study.runs.begin(), study.runs.end(),
                                  [&](const StudyRun& own) { return own.name == name; });
    if (!ours && fs::exists(run / "summary.json", error)) others.push_back(name);
  }
  if (others.empty()) return;
  if (study.version > 0) {
    log::info("{}: not in the tables unless they are named: {}", study_folder(study).string(),
              some_of(others));
    return;
  }
  throw_usage(study_folder(study).string(),
              "its report is of runs that these settings leave out: " + some_of(others),
              "--run NAME makes a study of its own; or move them away");
}

// Of a protocol: runs of earlier commands that have lost their place.
void say_left_out(const StudySettings& whole, const StudySettings& taken) {
  std::vector<std::string> names;
  for (const StudyRun& run : whole.runs) {
    const bool there = std::ranges::find(taken.runs, run.name, &StudyRun::name) != taken.runs.end();
    if (!there && training_status(run).state == State::changed) names.push_back(run.name);
  }
  if (names.empty()) return;
  log::warn("{}: not in the tables, as they were made with other settings or are damaged: {}",
            study_folder(whole).string(), some_of(names));
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
                  "was made with other settings since, or is damaged: " + some_of(status.changes),
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

Job training_job(const StudySettings& study, const StudyRun& run, const StudyOptions& options) {
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

std::string state_text(const StudyRun& run, const TrainingRunStatus& status) {
  switch (status.state) {
    case State::waiting:
      return "not begun";
    case State::begun:
      return fmt::format("begun, {:.0f} % done", 100 * status.done);
    case State::finished:
      return status.diverged ? "diverged" : "finished";
    case State::changed:
      return "made with other settings or damaged: " + some_of(status.changes);
    default:
      return "cannot be run: " + some_of(run.refusals.lines());
  }
}

StudyOutcome stopped_by(int signal) {
  StudyOutcome outcome;
  outcome.signal = signal;
  return outcome;
}

std::vector<RunResult> results_of(const StudySettings& study) {
  std::vector<RunResult> results;
  for (const StudyRun& run : study.runs) results.push_back(training_result(run));
  return results;
}

// What the trainings of a study, or of its tuning, have come to.
struct Trainings {
  std::vector<RunResult> results;  // of all runs
  std::size_t failed = 0;          // now
  std::size_t waiting = 0;         // for other processes
  Failures failed_evaluations;     // of those that were made after their trainings
  int signal = 0;                  // that stopped them
};

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

// The runs that other shards are still to finish.
std::size_t runs_of_others(const StudySettings& study, const std::vector<RunResult>& results) {
  const std::vector<TrainingRunStatus> now = look_at(study);
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    waiting += is_due(study, i, now[i]) && results[i].state != RunResult::State::failed;
  }
  return waiting;
}

// Runs what is not done yet. Throws Error (usage) as run_study does.
Trainings run_trainings(const StudySettings& study, const StudyOptions& options) {
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
  for (const auto& [name, outcome] : outcomes.following) {
    if (outcome.end != JobOutcome::End::failed) continue;
    trainings.failed_evaluations[name] = outcome.reason;
  }
  if (!whole) trainings.waiting = runs_of_others(study, trainings.results);
  return trainings;
}

// Word frequencies of several vocabularies have losses of their own: no one line stands for them.
std::vector<ReferenceLine> reference_lines(const StudySettings& study,
                                           const std::vector<StudyRow>& rows) {
  std::vector<ReferenceLine> lines;
  for (const StudyReferenceLine& line : study.reference_lines) {
    std::optional<double> value = line.value;
    if (!value && !of_several_questions(study, rows))
      value = unigram_loss(study.runs.front().settings, study.metric);
    if (!value) continue;
    lines.push_back(
        {.direction = ReferenceLine::Direction::horizontal, .value = *value, .label = line.label});
  }
  return lines;
}

// Of each data set once: many rows are of one task.
void add_commonest_class(const StudySettings& study, std::vector<StudyRow>& rows) {
  std::map<std::string, std::optional<double>> scores;
  for (StudyRow& row : rows) {
    const auto run = std::find_if(study.runs.begin(), study.runs.end(), [&](const StudyRun& other) {
      return other.name == row.runs.front().name;
    });
    if (run == study.runs.end() || task_facts(run->settings.task).data != TaskData::glue_folder)
      continue;
    const std::string data = fmt::format("{}|{}", static_cast<int>(run->settings.glue.task),
                                         run->settings.data.directory.string());
    if (!scores.contains(data)) scores[data] = commonest_class_score(run->settings);
    row.commonest_class = scores[data];
  }
}

}  // namespace

fs::path study_folder(const StudySettings& study) {
  return study.folder;
}

Table study_plan(const StudySettings& given) {
  require_variants(given);
  const StudySettings study = with_trials_at_hand(given);
  Table table({{.title = "run", .alignment = Column::Alignment::left},
               {.title = "state", .alignment = Column::Alignment::left}});
  const auto add = [&](const std::string& name, const std::string& state) {
    std::vector<Cell> cells;
    cells.emplace_back(name);
    cells.emplace_back(state);
    table.add_row(std::move(cells));
  };
  StudySettings planned = study;
  bool chosen = true;
  if (study.tuning) {
    const StudySettings& trials = *study.tuning->study;
    for (const StudyRun& run : trials.runs) {
      const TrainingRunStatus status = training_status(run);
      chosen &= status.state == State::finished || status.state == State::refused;
      add("tuning/" + run.name, state_text(run, status));
    }
    if (chosen) planned = with_choices(study, choose_tuned(*study.tuning, results_of(trials)));
  }
  if (chosen) planned = with_runs_at_hand(planned);
  for (const StudyRun& run : planned.runs) {
    if (!chosen && !run.asked) continue;
    add(run.name, chosen ? state_text(run, training_status(run)) : "waits for the tuning");
  }
  return table;
}

StudyOutcome run_study(const StudySettings& given, const StudyOptions& options) {
  require_variants(given);
  const fs::path folder = study_folder(given);
  const fs::path trainings = given.runs.front().settings.runs;
  make_directories(folder);
  std::optional<DirectoryLock> lock, trainings_lock;
  if (options.shard.whole()) lock.emplace(folder);
  if (trainings != folder) {
    make_directories(trainings);
    if (options.shard.whole()) trainings_lock.emplace(trainings);
  }
  refuse_subset(given);
  StudyOutcome outcome;
  StudySettings& study = outcome.study;
  study = with_trials_at_hand(given);
  if (study.tuning) {
    Trainings tried = run_trainings(*study.tuning->study, options);
    if (tried.signal != 0) return stopped_by(tried.signal);
    outcome.waiting = tried.waiting;
    outcome.waits_for_tuning = tried.waiting > 0;
    if (outcome.waits_for_tuning) return outcome;
    outcome.tuning = choose_tuned(*study.tuning, tried.results);
    outcome.failed_trials = tried.failed;
    study = with_choices(study, *outcome.tuning);
  }
  StudySettings whole = std::exchange(study, with_runs_at_hand(study));
  say_left_out(whole, study);
  Trainings trained = run_trainings(study, options);
  if (trained.signal != 0) return stopped_by(trained.signal);
  outcome.failed = trained.failed;
  outcome.failed_evaluations = trained.failed_evaluations.size();
  outcome.waiting = trained.waiting;
  if (outcome.waiting > 0) return outcome;
  if (!lock) {
    try {
      lock.emplace(folder);
    } catch (const DirectoryInUse&) {
      outcome.drawn_elsewhere = true;
      return outcome;
    }
  }
  outcome.rows = study_rows(study, trained.results, options.order);
  outcome.references = reference_lines(study, outcome.rows);
  add_commonest_class(study, outcome.rows);
  // Before anything else can go wrong: the trainings are what took the time.
  outcome.report = write_study_report(folder, study, outcome, options.origin);
  if (!study.evaluations.lengths.empty()) {
    LengthOutcome lengths = evaluate_lengths(study, outcome.rows,
                                             {.program = options.program,
                                              .parallel = options.parallel,
                                              .failures = std::move(trained.failed_evaluations)});
    if (lengths.signal != 0) return stopped_by(lengths.signal);
    outcome.lengths = std::move(lengths.rows);
    add_test_figures(study, outcome.lengths, outcome.rows);
    add_target_differences(study, outcome.lengths, outcome.rows);
    if (options.order == StudyOrder::metric) sort_rows(study, outcome.rows);
    outcome.failed_evaluations = lengths.failed;
    write_study_report(folder, study, outcome, options.origin);
  }
  if (study.evaluations.decodes()) {
    const std::vector<StudyRow> shown = chosen_rows(study, outcome.rows);
    const TranslationOutcome decoded =
        translate_sets(study, shown, {.program = options.program, .parallel = options.parallel});
    if (decoded.signal != 0) return stopped_by(decoded.signal);
    outcome.translations = translation_report(study, shown, decoded.translations);
    outcome.failed_evaluations += decoded.failed;
    write_study_report(folder, study, outcome, options.origin);
  }
  return outcome;
}

}  // namespace roformer
