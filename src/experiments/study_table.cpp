#include "experiments/study_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "config/task_facts.h"
#include "experiments/axis_title.h"
#include "experiments/commonest_class.h"
#include "experiments/declaration/study_metrics.h"
#include "experiments/metric.h"
#include "experiments/run_facts.h"
#include "metrics/statistics.h"

namespace roformer {
namespace {

using RunState = RunResult::State;

// The runs of each row, the rows in the order in which their first run comes.
std::vector<StudyRow> grouped(const StudySettings& study, const std::vector<RunResult>& results) {
  std::vector<StudyRow> rows;
  for (const RunResult& result : results) {
    std::vector<std::string> labels;
    for (std::size_t axis = 0; axis < study.axes.size(); ++axis) {
      if (study.axes[axis].key != kSeedAxis) labels.push_back(result.values[axis]);
    }
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const StudyRow& other) { return other.labels == labels; });
    if (row == rows.end()) row = rows.insert(rows.end(), {.labels = std::move(labels)});
    row->runs.push_back(result);
  }
  return rows;
}

// Whether the row has the figure of all runs (0), of some (1) or of none (2), and the figure
// itself: smaller is better.
std::pair<int, double> rank(const StudyRow& row, const Column& metric) {
  const std::size_t count = row.figures(metric.key).size();
  const double value = row.value(metric.key);
  if (std::isnan(value)) return {2, 0};
  const int lack = count == row.runs.size() ? 0 : 1;
  return {lack, metric.best == Column::Best::lowest ? value : -value};
}

// A spread table has the paper's values as rows.
bool has_paper_value(const StudySettings& study, const std::string& metric) {
  return study.spread.empty() &&
         std::any_of(study.paper.begin(), study.paper.end(),
                     [&](const PaperValue& value) { return value.metric == metric; });
}

Cell paper_cell(const StudySettings& study, const StudyRow& row, const std::string& metric) {
  for (const PaperValue& value : study.paper) {
    const bool here = value.row == row.title() || std::find(row.labels.begin(), row.labels.end(),
                                                            value.row) != row.labels.end();
    if (here && value.metric == metric) return value.value;
  }
  return std::monostate();
}

// Whether some run has it, where any has come to an end: a validation in the middle may be wanting.
bool is_measured(const std::vector<StudyRow>& rows, const std::string& metric) {
  const auto any = [&](const auto& holds) { return std::any_of(rows.begin(), rows.end(), holds); };
  const Column column = metric_column(metric);
  return !any([](const StudyRow& row) { return row.finished(); }) || any([&](const StudyRow& row) {
    return !std::holds_alternative<std::monostate>(figure_cell(row, column, TableUse::data));
  });
}

// "loss at 25 %, at 50 %, at 75 %": the first of neighbours says what all are.
void shorten_shares(std::vector<Column>& columns) {
  constexpr std::string_view kShare = "loss at ", kPercent = " %";
  const auto is_share = [&](const std::string& title) {
    return title.starts_with(kShare) && title.ends_with(kPercent);
  };
  bool before = false;
  for (Column& column : columns) {
    const bool share = is_share(column.title);
    if (share && before) column.title.erase(0, kShare.find("at"));
    before = share;
  }
}

std::vector<Column> metric_columns(const StudySettings& study, const std::vector<StudyRow>& rows) {
  std::vector<std::string> names{study.metric};
  if (study.columns.empty()) {
    names.insert(names.begin(), "parameters");
    for (const std::string_view more : task_facts(study.runs.front().settings.task).columns) {
      if (is_measured(rows, std::string(more))) names.emplace_back(more);
    }
  } else {
    names.insert(names.end(), study.columns.begin(), study.columns.end());
  }
  std::vector<Column> columns;
  for (const std::string& name : names) {
    const bool there = std::any_of(columns.begin(), columns.end(),
                                   [&](const Column& column) { return column.key == name; });
    if (!there) columns.push_back(metric_column_of(study, rows, name));
  }
  shorten_shares(columns);
  return columns;
}

// "left" for position.shaw.left; the whole key stays the name in CSV and JSON.
Column axis_column(const StudyAxis& axis) {
  std::string title = axis.key.substr(axis.key.rfind('.') + 1);
  std::replace(title.begin(), title.end(), '_', ' ');
  return {.title = title, .key = axis.key, .alignment = Column::Alignment::left};
}

bool is_of_machine(const std::string& metric) {
  constexpr std::array kMetrics = {"tokens_per_second", "milliseconds_per_step", "peak_memory",
                                   "minutes"};
  return std::find(kMetrics.begin(), kMetrics.end(), metric) != kMetrics.end();
}

bool of_several_machines(std::span<const StudyRow> rows) {
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

// Counts that do not depend on the seed (parameters), and studies of a single one, need no "± 0".
// The mean of several machines' times is the time of none.
Cell number_cell(const StudyRow& row, const Column& metric) {
  const std::vector<double> values = row.figures(metric.key);
  if (values.empty()) return std::monostate();
  if (is_of_machine(metric.key) && of_several_machines({&row, 1})) return std::monostate();
  if (median_of(metric.key)) return row.value(metric.key);
  if (mismatched_of(metric.key).value_or(metric.key) == "collapsed") {
    return static_cast<std::int64_t>(std::count(values.begin(), values.end(), 1.0));
  }
  const MeanAndDeviation cell{.mean = mean(values),
                              .deviation = sample_standard_deviation(values),
                              .count = static_cast<std::int64_t>(values.size())};
  const bool constant = metric.format.style == NumberFormat::Style::count && cell.deviation == 0;
  if (constant || row.runs.size() == 1) return cell.mean;
  return cell;
}

// The values of a tuned key that the row's runs were made with: one, but where machines or programs
// have chosen differently.
std::string chosen_text(const StudySettings& study, const StudyRow& row, std::size_t key) {
  std::vector<std::string> values;
  for (const RunResult& run : row.runs) {
    const std::vector<std::string>& chosen = run_named(study, run.name).chosen;
    if (key >= chosen.size()) continue;
    if (std::find(values.begin(), values.end(), chosen[key]) == values.end()) {
      values.push_back(chosen[key]);
    }
  }
  return fmt::format("{}", fmt::join(values, ", "));
}

// A row below the others where all of them are of the same data.
void add_commonest_class(const StudySettings& study, const std::vector<StudyRow>& rows,
                         Table& table) {
  if (!study.spread.empty() || rows.empty() || !rows.front().commonest_class) return;
  const bool same = std::all_of(rows.begin(), rows.end(), [&](const StudyRow& row) {
    return row.commonest_class == rows.front().commonest_class;
  });
  const std::string_view own = glue_metric(study.runs.front().settings.glue.task);
  if (!same || (study.metric != "score" && study.metric != own)) return;
  std::vector<Cell> cells{kCommonestClass};
  for (std::size_t i = 1; i < table.columns().size(); ++i) {
    const bool here = table.columns()[i].key == study.metric;
    cells.push_back(here ? Cell(*rows.front().commonest_class) : Cell(std::monostate()));
  }
  table.add_row(std::move(cells));
}

}  // namespace

bool ranks_before(const StudyRow& row, const StudyRow& other, const Column& metric) {
  return rank(row, metric) < rank(other, metric);
}

Cell figure_cell(const StudyRow& row, const Column& metric, TableUse use) {
  Cell cell = number_cell(row, metric);
  const std::string share = row.share(metric.key);
  // A count that is the same in all seeds (parameters) is the row's all the same.
  const bool constant = std::holds_alternative<double>(cell) &&
                        metric.format.style == NumberFormat::Style::count &&
                        metric.best == Column::Best::none;
  if (use == TableUse::data || share.empty() || constant ||
      std::holds_alternative<std::monostate>(cell)) {
    return cell;
  }
  const Cell words = as_words(cell, metric);
  const auto* const text = std::get_if<std::string>(&words);
  return text == nullptr ? cell : fmt::format("{} ({})", *text, share);
}

std::size_t label_index(const StudySettings& study, const std::string& axis) {
  std::size_t index = 0;
  for (const StudyAxis& other : study.axes) {
    if (other.key == axis) return index;
    index += other.key != kSeedAxis;
  }
  ROFORMER_ASSERT(!"an axis of the study");
  return 0;
}

std::string StudyRow::title() const {
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : ", ") + label;
  return text.empty() ? "all" : text;
}

std::vector<double> StudyRow::figures(const std::string& metric) const {
  const std::string name = median_of(metric).value_or(metric);
  std::vector<double> values;
  for (const RunResult& run : runs) {
    const auto figure = run.figures.find(name);
    if (run.state == RunState::finished && figure != run.figures.end())
      values.push_back(figure->second);
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
  return std::all_of(runs.begin(), runs.end(),
                     [](const RunResult& run) { return run.state == RunResult::State::finished; });
}

std::string StudyRow::state() const {
  std::string text;
  for (const RunState state : {RunState::finished, RunState::not_finished, RunState::failed,
                               RunState::diverged, RunState::refused}) {
    const auto count = std::count_if(runs.begin(), runs.end(),
                                     [state](const RunResult& run) { return run.state == state; });
    if (count == std::ssize(runs)) return state_word(state);
    if (count == 0 || state == RunState::finished) continue;
    text += fmt::format("{}{} of {} {}", text.empty() ? "" : ", ", count, runs.size(),
                        state_word(state));
  }
  return text;
}

std::string StudyRow::reasons() const {
  std::string text;
  for (const RunResult& run : runs) {
    if (run.state == RunState::finished) continue;
    // Seeds are refused for the same reason: once is enough.
    const bool alone = runs.size() == 1 || run.state == RunState::refused;
    std::string reason = alone ? state_word(run.state) : run.name + " " + state_word(run.state);
    if (!run.remark.empty()) reason += ": " + run.remark;
    if (text.find(reason) != std::string::npos) continue;
    text += (text.empty() ? "" : "; ") + reason;
  }
  return text;
}

bool is_of_question(const std::string& metric) {
  return metric.find("loss") != std::string::npos || metric.find("accuracy") != std::string::npos ||
         metric.find("perplexity") != std::string::npos;
}

bool of_several_questions(const StudySettings& study, const std::vector<StudyRow>& rows) {
  std::set<std::string> found;
  for (const StudyRow& row : rows) {
    const std::string question = question_of(study, row);
    if (!question.empty()) found.insert(question);
  }
  return found.size() > 1;
}

std::string question_of(const StudySettings& study, const StudyRow& row) {
  for (const StudyAxis& axis : study.axes) {
    if (axis.key == "probe.kind") return row.labels[label_index(study, axis.key)];
  }
  const bool of_text = !study.runs.empty() &&
                       task_facts(study.runs.front().settings.task).data == TaskData::prepared_text;
  if (!of_text) return "";
  const nlohmann::json::json_pointer pointer("/data/tokenizer_fingerprint");
  for (const RunResult& run : row.runs) {
    if (!run.record.is_object() || !run.record.contains(pointer)) continue;
    if (run.record[pointer].is_string()) return run.record[pointer].get<std::string>();
  }
  return "";
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
  std::stable_sort(rows.begin(), rows.end(), [&](const StudyRow& a, const StudyRow& b) {
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

namespace {

// Of a protocol: from 1; nothing for rows that are not ranked.
Cell rank_cell(const StudySettings& study, const std::vector<StudyRow>& rows, const StudyRow& row) {
  const Column metric = metric_column_of(study, rows, study.metric);
  if (!row.ranked(study.metric) || metric.best == Column::Best::none) return std::monostate();
  return 1 + static_cast<std::int64_t>(std::ranges::count_if(rows, [&](const StudyRow& other) {
           return other.ranked(study.metric) && ranks_before(other, row, metric);
         }));
}

}  // namespace

Table study_table(const StudySettings& study, const std::vector<StudyRow>& rows, TableUse use) {
  const bool protocol = study.version > 0;
  std::vector<Column> columns;
  for (const StudyAxis& axis : study.axes) {
    if (axis.key != kSeedAxis) columns.push_back(axis_column(axis));
  }
  const std::size_t tuned = study.tuning ? study.tuning->keys.size() : 0;
  const bool untitled = columns.empty();
  if (untitled) columns.push_back({.title = "run", .alignment = Column::Alignment::left});
  if (protocol) {
    for (const char* title : {"rank", "seeds"}) {
      columns.push_back({.title = title, .format = {NumberFormat::Style::count}});
    }
  }
  for (std::size_t i = 0; i < tuned; ++i) {
    columns.push_back(axis_column({.key = study.tuning->keys[i], .values = {}}));
  }
  const std::vector<Column> metrics = metric_columns(study, rows);
  for (const Column& metric : metrics) {
    columns.push_back(metric);
    if (!has_paper_value(study, metric.key)) continue;
    Column paper = metric;
    paper.title = "the paper's";
    paper.key += "_paper";
    paper.best = Column::Best::none;
    columns.push_back(std::move(paper));
  }
  const bool incomplete =
      std::any_of(rows.begin(), rows.end(), [](const StudyRow& row) { return !row.finished(); });
  if (incomplete) {
    columns.push_back({.title = "state", .alignment = Column::Alignment::left});
  }
  Table table(columns);
  for (const StudyRow& row : rows) {
    std::vector<Cell> cells;
    for (const StudyAxis& axis : study.axes) {
      if (axis.key == kSeedAxis) continue;
      cells.emplace_back(axis_value_title(axis.key, row.labels[label_index(study, axis.key)]));
    }
    if (untitled) cells.emplace_back(row.title());
    if (protocol) {
      cells.push_back(rank_cell(study, rows, row));
      cells.emplace_back(std::int64_t{std::ssize(row.figures(study.metric))});
    }
    for (std::size_t i = 0; i < tuned; ++i) {
      std::string chosen = chosen_text(study, row, i);
      cells.push_back(chosen.empty() ? Cell(std::monostate()) : Cell(std::move(chosen)));
    }
    for (const Column& metric : metrics) {
      cells.push_back(figure_cell(row, metric, use));
      if (protocol && use != TableUse::data && !row.ranked(study.metric)) {
        cells.back() = as_words(cells.back(), metric);
      }
      if (has_paper_value(study, metric.key)) cells.push_back(paper_cell(study, row, metric.key));
    }
    if (incomplete) {
      const bool brief = use == TableUse::page || row.finished();
      cells.emplace_back(brief ? row.state() : row.reasons());
    }
    table.add_row(std::move(cells));
  }
  add_commonest_class(study, rows, table);
  return table;
}

Table missing_table(const std::vector<StudyRow>& rows) {
  Table table({{.title = "without result", .alignment = Column::Alignment::left},
               {.title = "why", .alignment = Column::Alignment::left}});
  for (const StudyRow& row : rows) {
    if (row.finished()) continue;
    std::vector<Cell> cells;
    cells.emplace_back(row.title());
    cells.emplace_back(row.reasons());
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace roformer
