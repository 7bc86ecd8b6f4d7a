#include "experiments/spread_table.h"

#include <algorithm>

#include "base/error.h"
#include "experiments/axis_title.h"
#include "experiments/commonest_class.h"
#include "experiments/metric.h"

namespace roformer {
namespace {

struct Line {
  std::string title;
  std::vector<Cell> cells;
};

Line& line_of(const std::string& title, std::size_t columns, std::vector<Line>& lines) {
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](const Line& line) { return line.title == title; });
  if (found != lines.end()) return *found;
  lines.push_back({.title = title, .cells = std::vector<Cell>(columns)});
  return lines.back();
}

// The labels of the axes that are neither spread nor chosen.
std::string title_of(const StudySettings& study, const StudyRow& row) {
  std::string title;
  for (const StudyAxis& axis : study.axes) {
    if (axis.key == kSeedAxis || axis.key == study.spread || axis.key == study.choose) continue;
    title += (title.empty() ? "" : ", ") + row.labels[label_index(study, axis.key)];
  }
  return title.empty() ? study.name : title;
}

}  // namespace

Table spread_table(const StudySettings& study, const std::vector<StudyRow>& rows, TableUse use) {
  const auto axis = std::find_if(study.axes.begin(), study.axes.end(),
                                 [&](const StudyAxis& a) { return a.key == study.spread; });
  ROFORMER_ASSERT(axis != study.axes.end());
  const Column metric = metric_column(study.metric);
  std::vector<Column> columns{{.title = "model", .alignment = Column::Alignment::left}};
  for (const std::string& value : axis->values) {
    Column column = metric;
    column.title = axis_value_title(axis->key, value);
    column.key = value;
    columns.push_back(std::move(column));
  }
  const auto column_of = [&](const std::string& value) {
    return std::find(axis->values.begin(), axis->values.end(), value) - axis->values.begin();
  };
  std::vector<Line> lines;
  for (const StudyRow& row : rows) {
    const auto column =
        static_cast<std::size_t>(column_of(row.labels[label_index(study, study.spread)]));
    line_of(title_of(study, row), axis->values.size(), lines).cells[column] =
        figure_cell(row, metric, use);
  }
  if (metric.key == "score") {
    for (const StudyRow& row : rows) {
      if (!row.commonest_class) continue;
      const auto column =
          static_cast<std::size_t>(column_of(row.labels[label_index(study, study.spread)]));
      line_of(kCommonestClass, axis->values.size(), lines).cells[column] = *row.commonest_class;
    }
  }
  for (const PaperValue& value : study.paper) {
    const auto column = static_cast<std::size_t>(column_of(value.row));
    if (column == axis->values.size() || value.metric != study.metric) continue;
    line_of(value.model.empty() ? value.source : value.model, axis->values.size(), lines)
        .cells[column] = value.value;
  }
  Table table(columns);
  for (Line& line : lines) {
    std::vector<Cell> cells{line.title};
    cells.insert(cells.end(), line.cells.begin(), line.cells.end());
    table.add_row(std::move(cells));
  }
  return table;
}

}  // namespace roformer
