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
#include "experiments/baselines.h"
#include "experiments/difference_table.h"
#include "experiments/evaluations.h"
#include "experiments/study_rows.h"
#include "experiments/study_table.h"
#include "experiments/training_run.h"
#include "training/run_directory.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

using State = TrainingRunStatus::State;

// The existing report covers more runs and would be lost. A protocol's report includes finished
// runs of its axes' values, and other runs stay on disk.
void refuse_subset(const StudySettings& study) {
  std::vector<std::string> others;
  for (const fs::path& run : runs_in(study.folder)) {
    std::error_code error;
    const std::string name = run.filename().string();
    const bool ours = find_run(study, name) != nullptr;
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
              "--run NAME makes another study; or move them away");
}

// In a protocol: warns about runs of earlier commands that lose their place.
void say_left_out(const StudySettings& whole, const StudySettings& taken) {
  std::vector<std::string> names;
  for (const StudyRun& run : whole.runs) {
    const bool there = find_run(taken, run.name) != nullptr;
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

// Word frequencies of several vocabularies have different losses, so no single line shows them.
std::vector<ReferenceLine> reference_lines(const StudySettings& study,
                                           const std::vector<StudyRow>& rows) {
  std::vector<ReferenceLine> lines;
  for (const StudyReferenceLine& line : study.reference_lines) {
    std::optional<double> value = line.value;
    if (!value && !of_several_questions(study, rows)) {
      value = unigram_loss(study.runs.front().settings, study.metric);
    }
    if (!value) continue;
    lines.push_back(
        {.direction = ReferenceLine::Direction::horizontal, .value = *value, .label = line.label});
  }
  return lines;
}

// Reads each data set once, since many rows share a task.
void add_commonest_class(const StudySettings& study, std::vector<StudyRow>& rows) {
  std::map<std::string, std::optional<double>> scores;
  for (StudyRow& row : rows) {
    const StudyRun* const run = find_run(study, row.runs.front().name);
    if (run == nullptr || task_facts(run->settings.task).data != TaskData::glue_folder) continue;
    const std::string data = fmt::format("{}|{}", static_cast<int>(run->settings.glue.task),
                                         run->settings.data.directory.string());
    if (!scores.contains(data)) scores[data] = commonest_class_score(run->settings);
    row.commonest_class = scores[data];
  }
}

// Names that a study writes in its folder, besides those of its runs.
constexpr std::array kNames = {"claims", "configs",     "evaluations", "logs",
                               "tuning", "report.html", "table.md"};

// Checks that the folder is no run and holds no other files. Replacing a run would remove the study
// with it, and other files belong to somebody else.
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

// Runs before anything else: the entries that a study writes in its folder must be plain files and
// folders. The programs that the study starts get these names as arguments and would follow a link.
void require_plain_names(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const std::string extension = entry.path().extension().string();
    const bool ours = std::ranges::find(kNames, name) != kNames.end() || name == ".lock" ||
                      extension == ".csv" || extension == ".partial" || name == "table.json" ||
                      name == "table.tex";
    if (ours) (InnerPath::named(folder) / name).require_plain_tree();
  }
}

}  // namespace

StudySettings as_chosen(const StudySettings& given) {
  const RecordedTrials recorded = recorded_trials(given);
  const StudySettings study = with_trials_at_hand(given, recorded);
  if (!study.tuning) return study;
  const StudySettings& trials = *study.tuning->study;
  const std::vector<RunResult> results = trial_results(trials, recorded);
  const std::vector<bool> needed = needed_trials(*study.tuning, results);
  for (std::size_t i = 0; i < trials.runs.size(); ++i) {
    const StudyRun& trial = trials.runs[i];
    const bool there = is_taken(trial, recorded) || is_settled(training_status(trial));
    if (needed[i] && !there) return study;
  }
  return with_choices(study, choose_tuned(*study.tuning, results));
}

Table study_plan(const StudySettings& given) {
  require_variants(given);
  const RecordedTrials recorded = recorded_trials(given);
  const StudySettings study = with_trials_at_hand(given, recorded);
  Table table({words_column("run"), words_column("state")});
  StudySettings planned = study;
  bool chosen = true;
  if (study.tuning) {
    const StudySettings& trials = *study.tuning->study;
    const std::vector<RunResult> results = trial_results(trials, recorded);
    const std::vector<bool> needed = needed_trials(*study.tuning, results);
    for (std::size_t i = 0; i < trials.runs.size(); ++i) {
      const StudyRun& run = trials.runs[i];
      if (!needed[i]) continue;
      const TrainingRunStatus status = training_status(run);
      const bool taken = is_taken(run, recorded);
      chosen &= taken || is_settled(status);
      table.add_row({"tuning/" + run.name, taken ? "recorded in " + study.tuning->record.string()
                                                 : state_text(run, status)});
    }
    if (chosen) {
      planned = with_choices(study, choose_tuned(*study.tuning, results));
    }
  }
  if (chosen) planned = with_runs_at_hand(planned);
  for (const StudyRun& run : planned.runs) {
    if (!chosen && !run.asked) continue;
    table.add_row({run.name, chosen ? state_text(run, training_status(run))
                                    : std::string("waits for the tuning")});
  }
  return table;
}

namespace {

// Held while a study runs. Shards share the folders and hold nothing until one draws the table.
struct FolderLocks {
  std::optional<DirectoryLock> study, trainings;

  FolderLocks(const StudySettings& given, const StudyShard& shard) {
    const fs::path& folder = given.folder;
    const fs::path& others = given.runs.front().settings.runs;  // of another study, or the same
    require_own_folder(folder);
    require_plain_names(folder);
    require_plain_names(others);
    make_directories(folder);
    if (shard.whole()) study.emplace(InnerPath::named(folder));
    if (others == folder) return;
    make_directories(others);
    if (shard.whole()) trainings.emplace(InnerPath::named(others));
  }
};

// The phases of a study, in order. Each returns whether the next phase follows; if not, the outcome
// says why.
class StudyPhases {
 public:
  StudyPhases(const StudySettings& given, const StudyOptions& options)
      : given_(given),
        options_(options),
        training_{.program = options.program,
                  .overwrite = options.overwrite,
                  .parallel = options.parallel,
                  .shard = options.shard},
        locks_(given, options.shard) {
    refuse_subset(given);
  }

  StudyOutcome run() {
    const bool finished =
        tune() && train() && hold_report() && report() && evaluate() && translate();
    if (finished || outcome_.signal == 0) return std::move(outcome_);
    StudyOutcome stopped;
    stopped.signal = outcome_.signal;
    return stopped;
  }

 private:
  const StudySettings& given_;
  const StudyOptions& options_;
  TrainingOptions training_;
  FolderLocks locks_;
  StudyOutcome outcome_;
  Trainings trained_;

  bool tune() {
    const RecordedTrials recorded = recorded_trials(given_);
    outcome_.study = with_trials_at_hand(given_, recorded);
    if (!outcome_.study.tuning) return true;
    const StudyTuning& tuning = *outcome_.study.tuning;
    const Trainings tried = run_trials(tuning, recorded, training_);
    outcome_.signal = tried.signal;
    outcome_.waiting = tried.waiting;
    outcome_.waits_for_tuning = tried.waiting > 0;
    outcome_.failed_trials = tried.failed;
    if (tried.signal != 0 || tried.waiting > 0) return false;
    outcome_.tuning = choose_tuned(tuning, tried.results);
    outcome_.study = with_choices(outcome_.study, *outcome_.tuning);
    return true;
  }

  bool train() {
    const StudySettings whole = std::exchange(outcome_.study, with_runs_at_hand(outcome_.study));
    say_left_out(whole, outcome_.study);
    trained_ = run_trainings(outcome_.study, training_);
    outcome_.signal = trained_.signal;
    outcome_.failed = trained_.failed;
    outcome_.failed_evaluations = trained_.failed_evaluations.size();
    outcome_.waiting = trained_.waiting;
    return trained_.signal == 0 && trained_.waiting == 0;
  }

  bool hold_report() {
    if (locks_.study) return true;
    try {
      locks_.study.emplace(InnerPath::named(given_.folder));
    } catch (const DirectoryInUse&) {
      outcome_.drawn_elsewhere = true;
    }
    return !outcome_.drawn_elsewhere;
  }

  // Comes before evaluations, which may fail: the trainings took most of the time.
  bool report() {
    outcome_.rows = study_rows(outcome_.study, trained_.results, options_.order);
    outcome_.references = reference_lines(outcome_.study, outcome_.rows);
    add_commonest_class(outcome_.study, outcome_.rows);
    write();
    return true;
  }

  bool evaluate() {
    if (outcome_.study.evaluations.lengths.empty()) return true;
    LengthOutcome lengths = evaluate_lengths(outcome_.study, outcome_.rows,
                                             {.program = options_.program,
                                              .parallel = options_.parallel,
                                              .failures = std::move(trained_.failed_evaluations)});
    outcome_.signal = lengths.signal;
    if (lengths.signal != 0) return false;
    outcome_.lengths = std::move(lengths.rows);
    add_test_figures(outcome_.study, outcome_.lengths, outcome_.rows);
    add_target_differences(outcome_.study, outcome_.lengths, outcome_.rows);
    if (options_.order == StudyOrder::metric) sort_rows(outcome_.study, outcome_.rows);
    outcome_.failed_evaluations = lengths.failed;
    write();
    return true;
  }

  bool translate() {
    if (!outcome_.study.evaluations.decodes()) return true;
    const std::vector<StudyRow> shown = chosen_rows(outcome_.study, outcome_.rows);
    const TranslationOutcome decoded = translate_sets(
        outcome_.study, shown, {.program = options_.program, .parallel = options_.parallel});
    outcome_.signal = decoded.signal;
    if (decoded.signal != 0) return false;
    outcome_.translations = translation_report(outcome_.study, shown, decoded.translations);
    const auto& figures = outcome_.translations->figures;
    for (StudyRow& row : outcome_.rows) {
      for (RunResult& run : row.runs) {
        if (const auto own = figures.find(run.name); own != figures.end()) {
          run.figures.insert(own->second.begin(), own->second.end());
        }
      }
    }
    if (options_.order == StudyOrder::metric) sort_rows(outcome_.study, outcome_.rows);
    outcome_.failed_evaluations += decoded.failed;
    write();
    return true;
  }

  void write() {
    outcome_.report = write_study_report(given_.folder, outcome_.study, outcome_, options_.origin);
  }
};

}  // namespace

StudyOutcome run_study(const StudySettings& given, const StudyOptions& options) {
  require_variants(given);
  return StudyPhases(given, options).run();
}

}  // namespace roformer
