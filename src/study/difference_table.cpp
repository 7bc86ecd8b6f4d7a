#include "study/difference_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "config/study_metrics.h"
#include "metrics/statistics.h"
#include "study/metric.h"

namespace roformer {
namespace {

// The figure of each finished run, by the value of the seed.
std::map<std::string, double> figures_by_seed(const StudySettings& study, const StudyRow& row,
                                              const std::string& figure) {
  const auto seed = std::find_if(study.axes.begin(), study.axes.end(),
                                 [](const StudyAxis& axis) { return axis.key == "seed"; });
  std::map<std::string, double> figures;
  if (seed == study.axes.end()) return figures;
  const auto place = static_cast<std::size_t>(seed - study.axes.begin());
  for (const RunResult& run : row.runs) {
    const auto found = run.figures.find(figure);
    const bool there = run.state == RunResult::State::finished && found != run.figures.end();
    if (there && std::isfinite(found->second)) figures[run.values[place]] = found->second;
  }
  return figures;
}

// The rows that are compared with each other.
std::map<std::string, std::vector<const StudyRow*>> groups(const StudySettings& study,
                                                           const std::vector<StudyRow>& rows) {
  std::map<std::string, std::vector<const StudyRow*>> result;
  for (const StudyRow& row : rows) {
    result[study.spread.empty() ? "" : row.labels[label_place(study, study.spread)]].push_back(
        &row);
  }
  return result;
}

void add_differences(const StudySettings& study, const std::vector<const StudyRow*>& rows,
                     const Column& metric, Table& table) {
  const StudyRow& best = **std::min_element(
      rows.begin(), rows.end(),
      [&](const StudyRow* a, const StudyRow* b) { return ranks_before(*a, *b, metric); });
  const std::map<std::string, double> reference = figures_by_seed(study, best, metric.key);
  for (const StudyRow* row : rows) {
    if (row == &best) continue;
    std::vector<double> own, other;
    for (const auto& [seed, figure] : figures_by_seed(study, *row, metric.key)) {
      const auto found = reference.find(seed);
      if (found == reference.end()) continue;
      own.push_back(figure);
      other.push_back(found->second);
    }
    if (own.size() < 2) continue;
    const PairedComparison result = compare_paired(own, other);
    std::vector<Cell> cells{row->title(), best.title()};
    cells.emplace_back(static_cast<std::int64_t>(own.size()));
    cells.emplace_back(result.mean_difference);
    cells.emplace_back(result.interval.low);
    cells.emplace_back(result.interval.high);
    if (result.degenerate) {
      cells.emplace_back(std::monostate());
    } else {
      cells.emplace_back(result.p_value);
    }
    table.add_row(std::move(cells));
  }
}

}  // namespace

Table difference_table(const StudySettings& study, const std::vector<StudyRow>& rows) {
  const Column metric = metric_column(median_of(study.metric).value_or(study.metric));
  constexpr auto kWords = Column::Alignment::left;
  Table table({{.title = "row", .alignment = kWords},
               {.title = "best", .alignment = kWords},
               {.title = "seeds", .format = {NumberFormat::Style::count}},
               {.title = "difference", .unit = metric.unit, .format = metric.format},
               {.title = "95 % from", .key = "low", .format = metric.format},
               {.title = "to", .key = "high", .format = metric.format},
               {.title = "p", .format = {NumberFormat::Style::fixed, 3}}});
  // A score that differs from task to task has no better end in general, but has one in a task.
  if (metric.best == Column::Best::none && study.spread.empty()) return table;
  for (const auto& [name, group] : groups(study, rows)) {
    add_differences(study, group, metric, table);
  }
  return table;
}

std::string difference_caption(const StudySettings& study) {
  return fmt::format(
      "The {} of each row less that of the best one, seed by seed: the mean, Student's "
      "95 % interval and the two-sided paired t-test, not corrected for how many "
      "rows are compared.",
      metric_column(median_of(study.metric).value_or(study.metric)).title);
}

}  // namespace roformer
