#include "experiments/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/directory_lock.h"
#include "base/error.h"
#include "base/few_of.h"
#include "base/file.h"
#include "base/log.h"
#include "config/task_facts.h"
#include "experiments/chosen_rows.h"
#include "experiments/commonest_class.h"
#include "experiments/length_evaluations.h"
#include "experiments/protocol_runs.h"
#include "experiments/study_report.h"
#include "experiments/target_differences.h"
#include "experiments/training_run.h"
#include "experiments/trainings.h"
#include "experiments/translations.h"
#include "experiments/trials.h"
#include "experiments/unigram_loss.h"
#include "training/run_directory.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using State = TrainingRunStatus::State;

// The report that lies there is of more runs, and would be lost. That of a protocol takes in what
// is done of its axes' values; the runs of others stay.
void refuse_subset(const StudySettings& study) {
  std::vector<std::string> others;
  for (const fs::path& run : runs_in(study.folder)) {
    std::error_code error;
    const std::string name = run.filename().string();
    const bool ours = std::any_of(study.runs.begin(), study.runs.end(),
                                  [&](const StudyRun& own) { return own.name == name; });
    if (!ours && fs::exists(run / "summary.json", error)) others.push_back(name);
  }
  if (others.empty()) return;
  if (study.version > 0) {
    log::info("{}: not in the tables unless they are named: {}", study.folder.string(),
              few_of(others));
    return;
  }
  throw_usage(study.folder.string(),
              "its report is of runs that these settings leave out: " + few_of(others),
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
            whole.folder.string(), few_of(names));
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
      return "made with other settings or damaged: " + few_of(status.changes);
    default:
      return "cannot be run: " + few_of(run.refusals.lines());
  }
}

StudyOutcome stopped_by(int signal) {
  StudyOutcome outcome;
  outcome.signal = signal;
  return outcome;
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

// A study's own names beside those of its runs.
constexpr std::array kNames = {"claims", "configs",     "evaluations", "logs",
                               "tuning", "report.html", "table.md"};

// A run's folder would be replaced with the study in it, and what else lies there is somebody's.
void require_own_folder(const fs::path& folder) {
  constexpr const char* kHint = "--run NAME for another folder";
  if (is_run(folder)) throw_usage(folder.string(), "holds a run, no study", kHint);
  std::error_code error;
  bool empty = true;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (std::ranges::find(kNames, name) != kNames.end()) return;
    empty &= name.starts_with('.');
  }
  if (!empty) throw_usage(folder.string(), "is neither empty nor a study's", kHint);
}

// Before anything runs: of what a study writes in its folder, all is plain files and folders. The
// programs that it starts are told these names, and would take them as a user's own.
void require_plain_names(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const std::string extension = entry.path().extension().string();
    const bool ours = std::ranges::find(kNames, name) != kNames.end() || name == ".lock" ||
                      extension == ".csv" || extension == ".partial" || name == "table.json";
    if (ours) (InnerPath::named(folder) / name).require_plain_tree();
  }
}

}  // namespace

StudySettings as_chosen(const StudySettings& given) {
  const RecordedTrials recorded = recorded_trials(given);
  const StudySettings study = with_trials_at_hand(given, recorded);
  if (!study.tuning) return study;
  const StudySettings& trials = *study.tuning->study;
  const bool all = std::ranges::all_of(trials.runs, [&](const StudyRun& trial) {
    using State = TrainingRunStatus::State;
    const State state = is_taken(trial, recorded) ? State::finished : training_status(trial).state;
    return state == State::finished || state == State::refused;
  });
  if (!all) return study;
  return with_choices(study, choose_tuned(*study.tuning, trial_results(trials, recorded)));
}

Table study_plan(const StudySettings& given) {
  require_variants(given);
  const RecordedTrials recorded = recorded_trials(given);
  const StudySettings study = with_trials_at_hand(given, recorded);
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
      const bool taken = is_taken(run, recorded);
      chosen &= taken || status.state == State::finished || status.state == State::refused;
      add("tuning/" + run.name,
          taken ? "recorded in " + study.tuning->record.string() : state_text(run, status));
    }
    if (chosen) {
      planned = with_choices(study, choose_tuned(*study.tuning, trial_results(trials, recorded)));
    }
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
  const fs::path folder = given.folder;
  const fs::path trainings = given.runs.front().settings.runs;
  require_own_folder(folder);
  require_plain_names(folder);
  require_plain_names(trainings);
  make_directories(folder);
  std::optional<DirectoryLock> lock, trainings_lock;
  if (options.shard.whole()) lock.emplace(InnerPath::named(folder));
  if (trainings != folder) {
    make_directories(trainings);
    if (options.shard.whole()) trainings_lock.emplace(InnerPath::named(trainings));
  }
  refuse_subset(given);
  const TrainingOptions training{.program = options.program,
                                 .overwrite = options.overwrite,
                                 .parallel = options.parallel,
                                 .shard = options.shard};
  StudyOutcome outcome;
  StudySettings& study = outcome.study;
  const RecordedTrials recorded = recorded_trials(given);
  study = with_trials_at_hand(given, recorded);
  if (study.tuning) {
    Trainings tried = run_trials(*study.tuning->study, recorded, training);
    if (tried.signal != 0) return stopped_by(tried.signal);
    outcome.waiting = tried.waiting;
    outcome.waits_for_tuning = tried.waiting > 0;
    outcome.failed_trials = tried.failed;
    if (outcome.waits_for_tuning) return outcome;
    outcome.tuning = choose_tuned(*study.tuning, tried.results);
    study = with_choices(study, *outcome.tuning);
  }
  StudySettings whole = std::exchange(study, with_runs_at_hand(study));
  say_left_out(whole, study);
  Trainings trained = run_trainings(study, training);
  if (trained.signal != 0) return stopped_by(trained.signal);
  outcome.failed = trained.failed;
  outcome.failed_evaluations = trained.failed_evaluations.size();
  outcome.waiting = trained.waiting;
  if (outcome.waiting > 0) return outcome;
  if (!lock) {
    try {
      lock.emplace(InnerPath::named(folder));
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
