#include "experiments/training_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "base/checksums.h"
#include "base/error.h"
#include "base/file.h"
#include "base/progress.h"
#include "config/position_facts.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "experiments/study_rows.h"
#include "report/json_lines.h"
#include "runs/resume_rules.h"
#include "runs/run_settings.h"
#include "training/run_directory.h"
#include "training/stored_metrics.h"
#include "training/training_state.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::array kShares = {25, 50, 75};  // per cent of the steps

// Null if there is none yet. Throws Error (failure) for a damaged one.
nlohmann::json read_run_json(const fs::path& folder) {
  std::error_code error;
  const fs::path file = folder / "run.json";
  return fs::exists(file, error) ? read_checksummed_json(file) : nlohmann::json();
}

// "training.steps 600 -> 800"
std::string change_of(const Key& key, const Settings& stored, const Settings& wanted) {
  return fmt::format("{} {} -> {}", key.name, key.get(stored), key.get(wanted));
}

// Compares fingerprints if both sides have them, so that moved data count as the same. Otherwise
// compares the folders.
std::vector<std::string> data_changes(const nlohmann::json& record, const Settings& stored,
                                      const Settings& wanted) {
  std::vector<std::string> changes;
  const nlohmann::json now =
      recorded_text(record, "/data/fingerprint").empty() ? nlohmann::json() : data_today(wanted);
  if (now.is_null()) {
    const Key& key = *find_key("data.directory");
    if (key.get(stored) != key.get(wanted)) changes.push_back(change_of(key, stored, wanted));
    return changes;
  }
  for (const DataDifference& fact : data_differences(recorded_data(record), now)) {
    changes.push_back(fmt::format("{} {} -> {}", fact.title, fact.one, fact.other));
  }
  return changes;
}

// An option of a scheme that neither side uses. The study's file gives it for other rows.
bool is_idle(const Key& key, const Settings& stored, const Settings& wanted) {
  const auto uses = [&](const PositionSettings& position) {
    return uses_scheme(position, key.scheme()) || position.cross == key.scheme();
  };
  return !key.scheme().empty() && !uses(stored.position) && !uses(wanted.position);
}

std::vector<std::string> changes_between(const nlohmann::json& record, const Settings& stored,
                                         const Settings& wanted) {
  std::vector<std::string> changes;
  for (const std::string& name : diff(stored, wanted)) {
    const Key& key = *find_key(name);
    if (!key.is_compared() || is_idle(key, stored, wanted)) continue;
    changes.push_back(change_of(key, stored, wanted));
  }
  // Compared by what the training took: on a CPU all are exact.
  if (wanted.training.attention_gradient == AttentionGradient::exact &&
      attention_gradient_of(record) == to_word(AttentionGradient::fast)) {
    changes.push_back("training.attention_gradient fast -> exact");
  }
  const std::vector<std::string> data = data_changes(record, stored, wanted);
  changes.insert(changes.end(), data.begin(), data.end());
  return changes;
}

// The steps that the training would have without an end by patience.
double planned_steps(const TrainingSummary& summary, const Period& length) {
  const double consumed = summary.consumed.in(length.unit);
  const auto steps = static_cast<double>(summary.consumed.steps);
  return summary.reason == StopReason::patience && consumed > 0 ? steps * length.amount / consumed
                                                                : steps;
}

// The last validation at or before this share of the steps. nullptr if it is not near the share: a
// loss at 67 % does not count as one at 75 %.
const ValidationRecord* validation_at(const TrainingSummary& summary, double steps, double share) {
  constexpr double kNear = 0.051;  // of the steps: with validations every 10 %, 20 % counts as 25 %
  const ValidationRecord* nearest = nullptr;
  for (const ValidationRecord& record : summary.validations) {
    const auto step = static_cast<double>(record.step);
    if (step <= share * steps && step >= (share - kNear) * steps) nearest = &record;
  }
  return nearest;
}

// The figures of a validation. Names without an addition mean the weights that the run serves
// (training.weights) and that its evaluations read.
std::map<std::string, double> served_figures(const ValidationRecord& record,
                                             const Settings& settings) {
  std::map<std::string, double> figures = record.figures;
  if (settings.training.weights == WeightsKind::raw) return figures;
  for (const auto& [name, value] : record.figures) {
    if (name.starts_with(kAveraged)) figures[name.substr(kAveraged.size())] = value;
  }
  return figures;
}

// `shown` is the validation whose figures the table shows; nullptr if there was none.
void add_validations(const TrainingSummary& summary, const ValidationRecord* shown,
                     const Settings& settings, RunResult& result) {
  for (const ValidationRecord& record : summary.validations) {
    for (const auto& [figure, value] : served_figures(record, settings)) {
      const std::string name = metric_of(figure, settings);
      if (&record == shown) result.figures[name] = value;
      result.curves[name].push_back({.x = static_cast<double>(record.step), .y = value});
    }
  }
  const double steps = planned_steps(summary, settings.training.steps);
  for (const int percent : kShares) {
    const ValidationRecord* record = validation_at(summary, steps, percent / 100.0);
    if (record == nullptr) continue;
    const auto figures = served_figures(*record, settings);
    const auto loss = figures.find("loss");
    if (loss == figures.end()) continue;
    result.figures[fmt::format("loss_at_{}", percent)] = loss->second;
  }
}

const ValidationRecord* shown_validation(const StudyRun& run, const TrainingSummary& summary) {
  if (summary.validations.empty()) return nullptr;
  return shows_best_validation(run) ? summary.best() : &summary.validations.back();
}

// The task's own metric under one name, and the sizes of its sets.
void add_label_figures(const TrainingSummary& summary, const ValidationRecord* shown,
                       RunResult& result) {
  if (shown != nullptr) result.figures["score"] = shown->ranked();
  for (const ValidationRecord& record : summary.validations) {
    result.curves["score"].push_back({.x = static_cast<double>(record.step), .y = record.ranked()});
  }
  for (const char* size : {"training_examples", "validation_examples"}) {
    const nlohmann::json::json_pointer pointer(std::string("/data/") + size);
    if (!result.record.is_object() || !result.record.contains(pointer)) continue;
    if (result.record[pointer].is_number()) result.figures[size] = result.record[pointer];
  }
}

// `shown` is the validation whose figures count; nullptr if there was none.
void add_run_figures(const TrainingSummary& summary, const ValidationRecord* shown,
                     const StudyRun& run, RunResult& result) {
  result.figures = {{"parameters", static_cast<double>(summary.parameters)},
                    {"steps", static_cast<double>(summary.consumed.steps)},
                    {"tokens", static_cast<double>(summary.consumed.tokens)},
                    {"minutes", summary.consumed.minutes},
                    {"tokens_per_second", summary.tokens_per_second}};
  if (summary.tokens_per_second > 0 && summary.consumed.steps > 0) {
    const auto steps = static_cast<double>(summary.consumed.steps);
    result.figures["milliseconds_per_step"] =
        1e3 * static_cast<double>(summary.consumed.tokens) / steps / summary.tokens_per_second;
  }
  if (summary.peak_memory_bytes > 0) {
    constexpr double kMiB = 1 << 20;
    result.figures["peak_memory"] = static_cast<double>(summary.peak_memory_bytes) / kMiB;
  }
  add_validations(summary, shown, run.settings, result);
  if (task_facts(run.settings.task).labelled) add_label_figures(summary, shown, result);
  std::erase_if(result.figures, [](const auto& figure) { return !std::isfinite(figure.second); });
}

void add_training_curves(const std::vector<nlohmann::json>& lines, RunResult& result) {
  static constexpr std::array<std::pair<const char*, const char*>, 2> kCurves = {
      {{"training_loss", "loss"}, {"learning_rate", "learning_rate"}}};
  for (const nlohmann::json& line : lines) {
    if (!is_training_line(line)) continue;
    for (const auto& [curve, field] : kCurves) {
      const auto value = line.find(field);
      if (value == line.end() || !value->is_number()) continue;
      const auto steps = static_cast<double>(consumed_at(line).steps);
      result.curves[curve].push_back({.x = steps, .y = value->get<double>()});
    }
  }
}

// For a run that must be resumed. The weights of a finished run are simply decoded again.
void add_changes_of_ranking(const Settings& stored, const StudyRun& run,
                            std::vector<std::string>& changes) {
  for (const std::string& name : diff(stored, run.settings)) {
    const Key& key = *find_key(name);
    if (!key.may_change() || may_change_when_resumed(key, stored)) continue;
    changes.push_back(change_of(key, stored, run.settings));
  }
}

// `lines`: the lines of its metrics.jsonl, or at least the last ones.
JobProgress progress_of(const StudyRun& run, const std::vector<nlohmann::json>& lines) {
  const auto last = std::find_if(lines.rbegin(), lines.rend(), is_training_line);
  if (last == lines.rend()) return {};
  const Consumed consumed = consumed_at(*last);
  const Period& length = run.settings.training.steps;
  JobProgress progress{.done = std::min(1.0, consumed.in(length.unit) / length.amount),
                       .text = fmt::format("step {}", format_count(consumed.steps))};
  const auto loss = last->find("loss");
  if (loss != last->end() && loss->is_number()) {
    progress.text += fmt::format("  loss {:.4f}", loss->get<double>());
  }
  return progress;
}

// Throws Error (failure) for a folder with damaged files.
void look_into(const fs::path& folder, const StudyRun& run, TrainingRunStatus& status) {
  using State = TrainingRunStatus::State;
  const Settings stored = read_run_settings(folder);
  const nlohmann::json record = read_run_json(folder);
  status.changes = changes_between(record, stored, run.settings);
  const std::optional<TrainingSummary> summary = read_training_summary(folder);
  const bool ended = summary && summary->reason != StopReason::signal;
  if (ended && record.is_null()) throw_failure((folder / "run.json").string(), "is not there");
  status.done = ended ? 1 : progress_of(run, read_metrics(folder)).done;
  status.diverged = ended && summary->reason == StopReason::diverged;
  if (ended) status.state = State::finished;
  if (!ended) add_changes_of_ranking(stored, run, status.changes);
  if (!status.changes.empty()) status.state = State::changed;
}

}  // namespace

bool is_settled(const TrainingRunStatus& status) {
  using State = TrainingRunStatus::State;
  return status.state == State::finished || status.state == State::refused;
}

fs::path run_folder(const StudyRun& run) {
  return run.settings.runs / run.settings.run;
}

std::vector<std::string> resuming_flags(const StudyRun& run) {
  std::vector<std::string> flags{"--resume"};
  const Settings stored = read_run_settings(run_folder(run));
  for (const std::string& name : diff(stored, run.settings)) {
    const Key& key = *find_key(name);
    if (!may_change_when_resumed(key, stored) || name == "run" || name == "runs") continue;
    flags.insert(flags.end(), {"--" + name, key.get(run.settings)});
  }
  return flags;
}

void recover_training(const StudyRun& run) {
  if (!run.refusals.empty()) return;
  try {
    recover_run(run_folder(run));
  } catch (const DirectoryInUse&) {  // its holder cleans up
  }
}

TrainingRunStatus training_status(const StudyRun& run) {
  using State = TrainingRunStatus::State;
  if (!run.refusals.empty()) return {.state = State::refused};
  const fs::path folder = run_folder(run);
  if (!is_run(folder)) return {.state = State::waiting};
  TrainingRunStatus status{.state = State::begun};
  try {
    look_into(folder, run, status);
  } catch (const Error& problem) {
    status = {.state = State::changed, .damaged = true, .changes = {problem.what()}};
  }
  return status;
}

JobProgress training_progress(const StudyRun& run) {
  try {
    const fs::path file = run_folder(run) / "metrics.jsonl";
    return is_present(file) ? progress_of(run, read_last_json_lines(file)) : JobProgress();
  } catch (const Error&) {  // it is being moved, or training_status will report damage
    return {};
  }
}

RunResult training_result(const StudyRun& run) {
  RunResult result{.name = run.name, .values = run.values};
  if (!run.refusals.empty()) {
    result.state = RunResult::State::refused;
    for (const std::string& line : run.refusals.lines()) {
      result.remark += (result.remark.empty() ? "" : "; ") + line;
    }
    return result;
  }
  const fs::path folder = run_folder(run);
  try {
    result.record = read_run_json(folder);
  } catch (const Error&) {  // training_status reports it
  }
  const std::optional<TrainingSummary> summary = read_training_summary(folder);
  if (!summary || summary->reason == StopReason::signal) return result;
  if (summary->reason == StopReason::diverged) {
    result.state = RunResult::State::diverged;
    result.remark = summary->divergence;
    return result;
  }
  result.state = RunResult::State::finished;
  add_run_figures(*summary, shown_validation(run, *summary), run, result);
  return result;
}

RunResult result_so_far(const StudyRun& run) {
  const fs::path folder = run_folder(run);
  RunResult result{.name = run.name, .values = run.values, .record = read_run_json(folder)};
  const TrainingSummary summary = summary_so_far(folder, ranking_of(run.settings));
  if (summary.reason == StopReason::diverged) {
    result.state = RunResult::State::diverged;
    result.remark = summary.divergence;
  } else if (summary.reason != StopReason::signal) {
    result.state = RunResult::State::finished;
  }
  add_run_figures(summary, summary.best(), run, result);
  for (const char* const name : {"parameters", "steps", "tokens", "minutes", "tokens_per_second"}) {
    if (result.figures[name] == 0) result.figures.erase(name);  // no file says it yet
  }
  add_training_curves(read_metrics(folder), result);
  return result;
}

}  // namespace roformer
