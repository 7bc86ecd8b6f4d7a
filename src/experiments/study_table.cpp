#include "experiments/study_table.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/few_of.h"
#include "base/progress.h"
#include "config/task_facts.h"
#include "config/words.h"
#include "data/glue.h"
#include "experiments/baselines.h"
#include "experiments/declaration/study_metrics.h"
#include "experiments/metric.h"
#include "metrics/statistics.h"

namespace roformer {
namespace {

bool is_empty(const Cell& cell) {
  return std::holds_alternative<std::monostate>(cell);
}

// A spread table shows the paper's values as rows instead.
bool has_paper_value(const StudySettings& study, const std::string& metric) {
  return study.spread.empty() &&
         std::ranges::find(study.paper, metric, &PaperValue::metric) != study.paper.end();
}

Cell paper_cell(const StudySettings& study, const StudyRow& row, const std::string& metric) {
  for (const PaperValue& value : study.paper) {
    const bool here =
        value.row == row.title() || std::ranges::find(row.labels, value.row) != row.labels.end();
    if (here && value.metric == metric) return value.value;
  }
  return std::monostate();
}

// Whether a figure belongs in the table: some run has it, or none is finished yet. The figure of a
// validation halfway through may be missing.
bool is_measured(const std::vector<StudyRow>& rows, const std::string& metric) {
  const Column column = metric_column(metric);
  return std::ranges::none_of(rows, &StudyRow::finished) ||
         std::ranges::any_of(rows, [&](const StudyRow& row) {
           return !is_empty(figure_cell(row, column, TableUse::data));
         });
}

// "loss at 25 %, at 50 %, at 75 %": the first of several neighbours carries the common words.
void shorten_shares(std::vector<Column>& columns) {
  constexpr std::string_view kShare = "loss at ", kPercent = " %";
  bool before = false;
  for (Column& column : columns) {
    const bool share = column.title.starts_with(kShare) && column.title.ends_with(kPercent);
    if (share && before) column.title.erase(0, kShare.find("at"));
    before = share;
  }
}

std::vector<Column> metric_columns(const StudySettings& study, const std::vector<StudyRow>& rows) {
  std::vector<std::string> names;
  if (study.columns.empty()) {
    names = {"parameters"};
    add_once(names, study.metric);
    for (const std::string_view more : task_facts(study.runs.front().settings.task).columns) {
      if (is_measured(rows, std::string(more))) add_once(names, std::string(more));
    }
  } else {
    names = {study.metric};
    for (const std::string& name : study.columns) add_once(names, name);
  }
  std::vector<Column> columns;
  for (const std::string& name : names) columns.push_back(metric_column_of(study, rows, name));
  shorten_shares(columns);
  return columns;
}

// "MRPC (F1)" for mrpc of glue.task; the value itself for other axes.
std::string axis_value_title(const std::string& key, const std::string& value) {
  const auto& tasks = Words<GlueTask>::texts;
  const auto found = std::ranges::find(tasks, value);
  if (key != "glue.task" || found == tasks.end()) return value;
  const GlueTaskFacts& facts = glue_task_facts(static_cast<GlueTask>(found - tasks.begin()));
  return facts.folder + " (" + metric_column(std::string(glue_metric(facts.task))).title + ")";
}

// Counts that do not depend on the seed (parameters) and studies of one seed need no "± 0". A mean
// of times from different machines would be meaningless, so none is shown.
Cell number_cell(const StudyRow& row, const Column& metric) {
  const std::vector<double> values = row.figures(metric.key);
  if (values.empty() || (is_of_machine(metric.key) && of_several_machines({row}))) {
    return std::monostate();
  }
  if (median_of(metric.key)) return row.value(metric.key);
  if (mismatched_of(metric.key).value_or(metric.key) == "collapsed") {
    return static_cast<std::int64_t>(std::ranges::count(values, 1.0));
  }
  const bool constant =
      metric.format.style == NumberFormat::Style::count && sample_standard_deviation(values) == 0;
  if (constant || row.runs.size() == 1) return mean(values);
  return MeanAndDeviation{.mean = mean(values),
                          .deviation = sample_standard_deviation(values),
                          .count = static_cast<std::int64_t>(values.size())};
}

// The values of a tuned key that the row's runs were made with. Usually there is one; there are
// several if machines or programs chose differently.
Cell chosen_cell(const StudySettings& study, const StudyRow& row, std::size_t key) {
  std::vector<std::string> values;
  for (const RunResult& run : row.runs) {
    const std::vector<std::string>& chosen = run_named(study, run.name).chosen;
    if (key < chosen.size()) add_once(values, chosen[key]);
  }
  if (values.empty()) return std::monostate();
  return fmt::format("{}", fmt::join(values, ", "));
}

// In a protocol, the rank counted from 1. Empty for rows without a rank.
Cell rank_cell(const StudySettings& study, const std::vector<StudyRow>& rows, const StudyRow& row) {
  const Column metric = metric_column_of(study, rows, study.metric);
  if (!row.ranked(study.metric) || metric.best == Column::Best::none) return std::monostate();
  return 1 + static_cast<std::int64_t>(std::ranges::count_if(rows, [&](const StudyRow& other) {
           return other.ranked(study.metric) && ranks_before(other, row, metric);
         }));
}

// A column of the study's table, and its cell for a row.
struct StudyColumn {
  Column column;
  std::function<Cell(const StudyRow&)> cell;
};

std::vector<StudyColumn> label_columns(const StudySettings& study) {
  std::vector<StudyColumn> columns;
  for (const StudyAxis& axis : row_axes(study)) {
    columns.push_back({key_column(axis.key), [key = axis.key, i = columns.size()](const auto& row) {
                         return axis_value_title(key, row.labels[i]);
                       }});
  }
  if (columns.empty()) {
    columns.push_back({words_column("run"), [](const StudyRow& row) { return row.title(); }});
  }
  return columns;
}

std::vector<StudyColumn> study_columns(const StudySettings& study,
                                       const std::vector<StudyRow>& rows, TableUse use) {
  const bool protocol = study.version > 0;
  std::vector<StudyColumn> columns = label_columns(study);
  if (protocol) {
    constexpr NumberFormat kCount{NumberFormat::Style::count};
    columns.push_back({{.title = "rank", .format = kCount},
                       [&](const StudyRow& row) { return rank_cell(study, rows, row); }});
    columns.push_back({{.title = "seeds", .format = kCount}, [&](const StudyRow& row) {
                         return std::int64_t{std::ssize(row.figures(study.metric))};
                       }});
  }
  for (std::size_t i = 0; study.tuning && i < study.tuning->keys.size(); ++i) {
    columns.push_back({key_column(study.tuning->keys[i]),
                       [&study, i](const auto& row) { return chosen_cell(study, row, i); }});
  }
  for (const Column& metric : metric_columns(study, rows)) {
    columns.push_back({metric, [&study, metric, use, protocol](const StudyRow& row) {
                         const Cell cell = figure_cell(row, metric, use);
                         const bool plain =
                             !protocol || use == TableUse::data || row.ranked(study.metric);
                         return plain ? cell : as_words(cell, metric);
                       }});
    if (!has_paper_value(study, metric.key)) continue;
    Column paper = metric;
    paper.title = "the paper's";
    paper.key += "_paper";
    paper.best = Column::Best::none;
    columns.push_back({std::move(paper), [&study, key = metric.key](const StudyRow& row) {
                         return paper_cell(study, row, key);
                       }});
  }
  if (!std::ranges::all_of(rows, &StudyRow::finished)) {
    columns.push_back({words_column("state"), [use](const StudyRow& row) {
                         const bool brief = use == TableUse::page || row.finished();
                         return brief ? row.state() : row.reasons();
                       }});
  }
  return columns;
}

// Adds one more row below if all rows have the same data.
void add_commonest_class(const StudySettings& study, const std::vector<StudyRow>& rows,
                         Table& table) {
  if (!study.spread.empty() || rows.empty() || !rows.front().commonest_class) return;
  const std::optional<double> score = rows.front().commonest_class;
  const bool same =
      std::ranges::all_of(rows, [&](const StudyRow& row) { return row.commonest_class == score; });
  const std::string_view own = glue_metric(study.runs.front().settings.glue.task);
  if (!same || (study.metric != "score" && study.metric != own)) return;
  std::vector<Cell> cells(table.columns().size());
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (table.columns()[i].key == study.metric) cells[i] = *score;
  }
  cells.front() = kCommonestClass;
  table.add_row(std::move(cells));
}

struct Fact {
  const char* title;
  const char* pointer;  // into run.json
};

constexpr std::array kShownFacts{
    Fact{"program", "/version"},
    Fact{"commit", "/commit"},
    Fact{"LibTorch", "/libtorch"},
    Fact{"processor", "/machine/processor"},
    Fact{"cores", "/machine/cores"},
    Fact{"threads", "/machine/threads"},
    Fact{"memory", "/machine/memory_bytes"},
    Fact{"system", "/machine/system"},
    Fact{"precision", "/precision"},
    Fact{"attention", "/attention/forward"},
    Fact{"gradient of attention", "/attention/gradient"},
    Fact{"data", "/data/name"},
    Fact{"fingerprint of the data", "/data/fingerprint"},
    Fact{"fingerprint of the tokenizer", "/data/tokenizer_fingerprint"},
};

std::string fact_of(const nlohmann::json& record, const std::string& pointer) {
  if (!pointer.ends_with("_bytes")) return recorded_text(record, pointer);
  const nlohmann::json::json_pointer place(pointer);
  const bool bytes = record.is_object() && record.contains(place);
  return bytes && record[place].is_number_unsigned()
             ? format_bytes(record[place].get<std::uint64_t>())
             : recorded_text(record, pointer);
}

}  // namespace

Column words_column(const std::string& title, const std::string& key) {
  return {.title = title, .key = key, .alignment = Column::Alignment::left};
}

Column key_column(const std::string& key) {
  std::string title = key.substr(key.rfind('.') + 1);
  std::ranges::replace(title, '_', ' ');
  return words_column(title, key);
}

Cell mean_cell(const std::vector<double>& values) {
  if (values.empty()) return std::monostate();
  if (values.size() == 1) return values.front();
  return MeanAndDeviation{.mean = mean(values),
                          .deviation = sample_standard_deviation(values),
                          .count = static_cast<std::int64_t>(values.size())};
}

Cell figure_cell(const StudyRow& row, const Column& metric, TableUse use) {
  Cell cell = number_cell(row, metric);
  const std::string share = row.share(metric.key);
  // A count that is the same for all seeds (parameters) applies to the whole row.
  const bool constant = std::holds_alternative<double>(cell) &&
                        metric.format.style == NumberFormat::Style::count &&
                        metric.best == Column::Best::none;
  if (use == TableUse::data || share.empty() || constant || is_empty(cell)) return cell;
  const Cell text = as_words(cell, metric);
  const auto* const shown = std::get_if<std::string>(&text);
  return shown == nullptr ? cell : fmt::format("{} ({})", *shown, share);
}

Table study_table(const StudySettings& study, const std::vector<StudyRow>& rows, TableUse use) {
  const std::vector<StudyColumn> all = study_columns(study, rows, use);
  std::vector<Column> columns;
  for (const StudyColumn& one : all) columns.push_back(one.column);
  Table table(columns);
  for (const StudyRow& row : rows) {
    std::vector<Cell> cells;
    for (const StudyColumn& one : all) cells.push_back(one.cell(row));
    table.add_row(std::move(cells));
  }
  add_commonest_class(study, rows, table);
  return table;
}

Table spread_table(const StudySettings& study, const std::vector<StudyRow>& rows, TableUse use) {
  const auto axis = std::ranges::find(study.axes, study.spread, &StudyAxis::key);
  ROFORMER_ASSERT(axis != study.axes.end());
  const std::size_t spread = label_index(study, study.spread);
  const Column metric = metric_column(study.metric);
  std::vector<Column> columns{words_column("model")};
  for (const std::string& value : axis->values) {
    Column& column = columns.emplace_back(metric);
    column.title = axis_value_title(axis->key, value);
    column.key = value;
  }
  std::vector<std::vector<Cell>> lines;  // the first cell is the title
  const auto put = [&](const std::string& title, const std::string& value, const Cell& cell) {
    const auto column = std::ranges::find(axis->values, value) - axis->values.begin();
    if (column == std::ssize(axis->values)) return;
    auto line = std::ranges::find_if(
        lines, [&](const auto& cells) { return std::get<std::string>(cells.front()) == title; });
    if (line == lines.end()) {
      line = lines.insert(line, std::vector<Cell>(columns.size()));
      line->front() = title;
    }
    (*line)[static_cast<std::size_t>(column) + 1] = cell;
  };
  for (const StudyRow& row : rows) {
    std::vector<std::string> labels;
    for (const StudyAxis& other : row_axes(study)) {
      if (other.key == study.spread || other.key == study.choose) continue;
      labels.push_back(row.labels[label_index(study, other.key)]);
    }
    put(labels.empty() ? study.name : fmt::format("{}", fmt::join(labels, ", ")),
        row.labels[spread], figure_cell(row, metric, use));
  }
  for (const StudyRow& row : rows) {
    if (metric.key != "score" || !row.commonest_class) continue;
    put(kCommonestClass, row.labels[spread], *row.commonest_class);
  }
  for (const PaperValue& value : study.paper) {
    if (value.metric != study.metric) continue;
    put(value.model.empty() ? value.source : value.model, value.row, value.value);
  }
  Table table(columns);
  for (std::vector<Cell>& line : lines) table.add_row(std::move(line));
  return table;
}

Table missing_table(const std::vector<StudyRow>& rows) {
  Table table({words_column("without result"), words_column("why")});
  for (const StudyRow& row : rows) {
    if (!row.finished()) table.add_row({row.title(), row.reasons()});
  }
  return table;
}

std::string attention_sentence(const std::vector<StudyRow>& rows) {
  constexpr const char* kUnknown = "not recorded";
  std::map<std::string, std::vector<std::string>> titles;  // of rows, by their gradient
  for (const StudyRow& row : rows) {
    for (const RunResult& run : row.runs) {
      if (!run.finished()) continue;
      const std::string gradient = attention_gradient_of(run.record);
      add_once(titles[gradient.empty() ? kUnknown : gradient], row.title());
    }
  }
  if (titles.size() < 2) return "";
  std::vector<std::string> parts;
  for (const auto& [gradient, rows_of_it] : titles) {
    parts.push_back(fmt::format("{} in {}", gradient, few_of(rows_of_it)));
  }
  return fmt::format(
      " The gradient of attention (training.attention_gradient) is {}: these do not compare.",
      fmt::join(parts, ", "));
}

Table provenance_table(const std::vector<StudyRow>& rows) {
  Table table({words_column("what"), words_column("of the runs")});
  for (const auto& [title, pointer] : kShownFacts) {
    std::vector<std::string> texts;
    for (const StudyRow& row : rows) {
      for (const RunResult& run : row.runs) add_once(texts, fact_of(run.record, pointer));
    }
    std::erase(texts, "");
    if (!texts.empty()) table.add_row({title, fmt::format("{}", fmt::join(texts, ", "))});
  }
  return table;
}

Table runs_table(const std::vector<StudyRow>& rows) {
  constexpr std::array kFigures{"steps", "tokens", "minutes"};
  std::vector<Column> columns{words_column("run"), words_column("state")};
  for (const char* figure : kFigures) columns.push_back(metric_column(figure));
  columns.push_back(words_column("command"));
  Table table(columns);
  for (const StudyRow& row : rows) {
    for (const RunResult& run : row.runs) {
      std::vector<Cell> cells{run.name, state_word(run.state)};
      for (const char* name : kFigures) {
        const auto figure = run.figures.find(name);
        cells.push_back(figure == run.figures.end() ? Cell() : Cell(figure->second));
      }
      const std::string command = recorded_text(run.record, "/command");
      cells.push_back(command.empty() ? Cell() : Cell(command));
      table.add_row(std::move(cells));
    }
  }
  return table;
}

}  // namespace roformer
