#include "experiments/study_rows.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/error.h"
#include "config/task_facts.h"
#include "experiments/declaration/study_metrics.h"
#include "experiments/metric.h"
#include "metrics/statistics.h"

namespace roformer {
namespace {

using RunState = RunResult::State;

// The runs of each row, in the order of the rows' first runs.
std::vector<StudyRow> grouped(const StudySettings& study, const std::vector<RunResult>& results) {
  std::vector<StudyRow> rows;
  for (const RunResult& result : results) {
    std::vector<std::string> labels = result.values;
    if (const auto seed = seed_axis(study)) {
      labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(*seed));
    }
    auto row = std::ranges::find(rows, labels, &StudyRow::labels);
    if (row == rows.end()) row = rows.insert(rows.end(), {.labels = std::move(labels)});
    row->runs.push_back(result);
  }
  return rows;
}

// Whether all runs of the row have the figure (0), some (1) or none (2), and the figure itself. The
// smaller pair is better.
std::pair<int, double> rank(const StudyRow& row, const Column& metric) {
  const double value = row.value(metric.key);
  if (std::isnan(value)) return {2, 0};
  const int lack = row.share(metric.key).empty() ? 0 : 1;
  return {lack, metric.best == Column::Best::lowest ? value : -value};
}

}  // namespace

const StudyRun* find_run(const StudySettings& study, const std::string& name) {
  const auto found = std::ranges::find(study.runs, name, &StudyRun::name);
  return found == study.runs.end() ? nullptr : &*found;
}

const StudyRun& run_named(const StudySettings& study, const std::string& name) {
  const StudyRun* const run = find_run(study, name);
  ROFORMER_ASSERT(run != nullptr);
  return *run;
}

std::optional<std::size_t> seed_axis(const StudySettings& study) {
  const auto seed = std::ranges::find(study.axes, kSeedAxis, &StudyAxis::key);
  if (seed == study.axes.end()) return std::nullopt;
  return static_cast<std::size_t>(seed - study.axes.begin());
}

std::vector<StudyAxis> row_axes(const StudySettings& study) {
  std::vector<StudyAxis> axes = study.axes;
  std::erase_if(axes, [](const StudyAxis& axis) { return axis.key == kSeedAxis; });
  return axes;
}

std::size_t label_index(const StudySettings& study, const std::string& axis) {
  const std::vector<StudyAxis> axes = row_axes(study);
  const auto found = std::ranges::find(axes, axis, &StudyAxis::key);
  ROFORMER_ASSERT(found != axes.end());
  return static_cast<std::size_t>(found - axes.begin());
}

bool shows_best_validation(const StudyRun& run) {
  return run.settings.training.patience > 0;
}

std::optional<std::int64_t> common_training_length(const StudySettings& study) {
  const std::int64_t length = study.runs.front().settings.data.length;
  const bool common = std::ranges::all_of(
      study.runs, [&](const StudyRun& run) { return run.settings.data.length == length; });
  return common ? std::optional(length) : std::nullopt;
}

std::string StudyRow::title() const {
  return labels.empty() ? "all" : fmt::format("{}", fmt::join(labels, ", "));
}

std::vector<double> StudyRow::figures(const std::string& metric) const {
  const std::string name = median_of(metric).value_or(metric);
  std::vector<double> values;
  for (const RunResult& run : runs) {
    if (const auto figure = run.figure(name)) values.push_back(*figure);
  }
  return values;
}

double StudyRow::value(const std::string& metric) const {
  const std::vector<double> values = figures(metric);
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return median_of(metric) ? median(values) : mean(values);
}

std::string StudyRow::share(const std::string& metric) const {
  const std::size_t count = figures(metric).size();
  return count == runs.size() ? "" : fmt::format("{} of {}", count, runs.size());
}

bool StudyRow::finished() const {
  return std::ranges::all_of(runs, &RunResult::finished);
}

std::string StudyRow::state() const {
  std::vector<std::string> states;
  for (const RunState state : {RunState::finished, RunState::not_finished, RunState::failed,
                               RunState::diverged, RunState::refused}) {
    const auto count = std::ranges::count(runs, state, &RunResult::state);
    if (count == std::ssize(runs)) return state_word(state);
    if (count == 0 || state == RunState::finished) continue;
    states.push_back(fmt::format("{} of {} {}", count, runs.size(), state_word(state)));
  }
  return fmt::format("{}", fmt::join(states, ", "));
}

std::string StudyRow::reasons() const {
  std::string text;
  for (const RunResult& run : runs) {
    if (run.finished()) continue;
    // If all seeds are refused for the same reason, the reason is given once.
    const bool alone = runs.size() == 1 || run.state == RunState::refused;
    std::string reason = alone ? state_word(run.state) : run.name + " " + state_word(run.state);
    if (!run.remark.empty()) reason += ": " + run.remark;
    if (text.find(reason) != std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + reason;
  }
  return text;
}

bool ranks_before(const StudyRow& row, const StudyRow& other, const Column& metric) {
  return rank(row, metric) < rank(other, metric);
}

std::string question_of(const StudySettings& study, const StudyRow& row) {
  const std::vector<StudyAxis> axes = row_axes(study);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].key == "probe.kind") return row.labels[i];
  }
  const bool of_text =
      !study.runs.empty() &&
      task_facts(study.runs.front().settings.task).data == TaskData::prepared_text;
  if (!of_text) return "";
  for (const RunResult& run : row.runs) {
    const std::string tokenizer = recorded_text(run.record, "/data/tokenizer_fingerprint");
    if (!tokenizer.empty()) return tokenizer;
  }
  return "";
}

bool is_of_question(const std::string& metric) {
  return metric.find("loss") != std::string::npos || metric.find("accuracy") != std::string::npos ||
         metric.find("perplexity") != std::string::npos;
}

bool of_several_questions(const StudySettings& study, const std::vector<StudyRow>& rows) {
  std::set<std::string> found;
  for (const StudyRow& row : rows) found.insert(question_of(study, row));
  found.erase("");
  return found.size() > 1;
}

bool is_of_machine(const std::string& metric) {
  constexpr std::array kMetrics = {"tokens_per_second", "milliseconds_per_step", "peak_memory",
                                   "minutes"};
  return std::ranges::find(kMetrics, metric) != kMetrics.end();
}

bool of_several_machines(const std::vector<StudyRow>& rows) {
  const RunResult* first = nullptr;
  for (const StudyRow& row : rows) {
    for (const RunResult& run : row.runs) {
      if (machine_of(run).empty()) continue;
      if (first == nullptr) first = &run;
      if (!same_machine(*first, run)) return true;
    }
  }
  return false;
}

Column metric_column_of(const StudySettings& study, const std::vector<StudyRow>& rows,
                        const std::string& metric) {
  Column column = metric_column(metric);
  const bool question = is_of_question(metric) && of_several_questions(study, rows);
  const bool machine = is_of_machine(metric) && of_several_machines(rows);
  if (question || machine) column.best = Column::Best::none;
  return column;
}

void sort_rows(const StudySettings& study, std::vector<StudyRow>& rows) {
  const Column metric = metric_column_of(study, rows, study.metric);
  const auto ranked = [&](const StudyRow& row) {
    return study.version == 0 || row.ranked(study.metric);
  };
  std::ranges::stable_sort(rows, [&](const StudyRow& a, const StudyRow& b) {
    if (!ranked(a) || !ranked(b)) return ranked(a) && !ranked(b);
    return metric.best != Column::Best::none && ranks_before(a, b, metric);
  });
}

std::vector<StudyRow> study_rows(const StudySettings& study, const std::vector<RunResult>& results,
                                 StudyOrder order) {
  std::vector<StudyRow> rows = grouped(study, results);
  if (order == StudyOrder::metric) sort_rows(study, rows);
  return rows;
}

std::vector<StudyRow> chosen_rows(const StudySettings& study, const std::vector<StudyRow>& rows) {
  if (study.choose.empty()) return rows;
  const auto index = static_cast<std::ptrdiff_t>(label_index(study, study.choose));
  const Column metric = metric_column(study.metric);
  const auto others = [index](const StudyRow& row) {
    std::vector<std::string> labels = row.labels;
    labels.erase(labels.begin() + index);
    return labels;
  };
  std::vector<StudyRow> chosen;
  for (const StudyRow& row : rows) {
    const auto rival = std::ranges::find(chosen, others(row), others);
    if (rival == chosen.end()) {
      chosen.push_back(row);
    } else if (ranks_before(row, *rival, metric)) {
      *rival = row;
    }
  }
  return chosen;
}

}  // namespace roformer
