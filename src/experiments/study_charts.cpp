#include "experiments/study_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "config/position_facts.h"
#include "experiments/declaration/study_metrics.h"
#include "experiments/length_report.h"
#include "experiments/metric.h"
#include "experiments/study_rows.h"
#include "metrics/statistics.h"

namespace roformer {
namespace {

constexpr std::size_t kMostLines = 8;  // as many as there are colours
constexpr double kNormal = 1.96;       // standard errors to either side of a 95 % interval
constexpr std::size_t kMostSeeds = 2;  // that have no interval worth drawing

// "(1 of 3)" follows if some runs lack the figure.
std::string shared_title(const StudyRow& row, const std::string& metric) {
  const std::string share = row.share(metric);
  return share.empty() ? row.title() : fmt::format("{} ({})", row.title(), share);
}

// The family of the scheme of the row's runs.
std::string family_of_row(const StudySettings& study, const StudyRow& row) {
  const StudyRun* const run = row.runs.empty() ? nullptr : find_run(study, row.runs.front().name);
  return run == nullptr ? "" : family_of(run->settings.position.scheme);
}

// The mean over a row's finished runs at the steps where all of them have a point. Several runs
// also give a band of one deviation to either side.
Series row_series(const StudyRow& row, const std::string& metric) {
  std::map<double, std::vector<double>> points;
  std::size_t runs = 0;
  for (const RunResult& run : row.runs) {
    const auto curve = run.curves.find(metric);
    if (!run.finished() || curve == run.curves.end()) continue;
    ++runs;
    for (const CurvePoint& point : curve->second) points[point.x].push_back(point.y);
  }
  Series series{.name = shared_title(row, metric)};
  for (const auto& [x, values] : points) {
    if (values.size() != runs) continue;
    const double middle = mean(values);
    series.x.push_back(x);
    series.y.push_back(middle);
    if (runs < 2) continue;
    const double deviation = sample_standard_deviation(values);
    series.low.push_back(middle - deviation);
    series.high.push_back(middle + deviation);
  }
  return series;
}

// Shares are drawn as percentages, as tables show them.
constexpr double kPercent = 100;

// A single validation is a point and no line.
bool is_point(const Series& series) {
  return series.x.size() < 2;
}

void add_curves(const StudySettings& study, const StudyResults& results,
                const std::vector<StudyRow>& rows, std::vector<NamedChart>& charts) {
  const std::string figure = median_of(study.metric).value_or(study.metric);
  const Column metric = metric_column(figure);
  LineChart chart{.title = metric.title + " over the steps",
                  .x = {.title = "steps"},
                  .y = {.title = metric.title, .unit = metric.unit},
                  .references = results.references};
  std::vector<std::string> families;
  for (const StudyRow& row : rows) {
    Series series = row_series(row, figure);
    if (series.x.empty()) continue;
    chart.series.push_back(std::move(series));
    families.push_back(family_of_row(study, row));
  }
  const bool bands =
      std::ranges::any_of(chart.series, [](const Series& one) { return !one.low.empty(); });
  chart.subtitle = bands ? "Mean over the seeds, the band is one standard deviation wide "
                           "to either side; same held-out text for all"
                         : "Same held-out text for all";
  if (auto curves = curve_chart(std::move(chart), metric, families)) {
    charts.push_back({.name = "curves", .chart = std::move(*curves)});
  }
}

Dot dot_of(const StudyRow& row, const Column& metric) {
  Dot dot{.name = shared_title(row, metric.key), .value = row.value(metric.key)};
  const std::vector<double> values = row.figures(metric.key);
  if (values.size() == 1) {
    const std::vector<double> error = row.figures(metric.key + "_standard_error");
    if (error.size() != 1) return dot;
    dot.low = dot.value - kNormal * error.front();
    dot.high = dot.value + kNormal * error.front();
  }
  if (values.size() < 2) return dot;
  dot.parts = values;
  dot.label = format_number(dot.value, metric.format);
  if (median_of(metric.key)) return dot;
  dot.label += " ± " + format_number(sample_standard_deviation(values), metric.format);
  if (values.size() <= kMostSeeds) return dot;
  const Interval interval = student_interval(values);
  dot.low = interval.low;
  dot.high = interval.high;
  return dot;
}

void add_figures(const StudySettings& study, const StudyResults& results,
                 const std::vector<StudyRow>& rows, std::vector<NamedChart>& charts) {
  const Column metric = metric_column(study.metric);
  const bool best = std::ranges::any_of(study.runs, shows_best_validation);
  DotChart chart{.title = metric.title + (best ? "" : " at the end"),
                 .value = {.title = metric.title, .unit = metric.unit},
                 .format = metric.format,
                 .references = results.references};
  bool several = false, intervals = false, of_text = false;
  for (const StudyRow& row : rows) {
    if (row.figures(study.metric).empty()) continue;
    chart.dots.push_back(dot_of(row, metric));
    several |= !chart.dots.back().parts.empty();
    intervals |= chart.dots.back().low.has_value();
    of_text |= chart.dots.back().low.has_value() && chart.dots.back().parts.empty();
    if (rows.size() > kMostLines) chart.dots.back().group = family_of_row(study, row);
  }
  if (chart.dots.size() < 2) return;
  chart.subtitle =
      several     ? intervals ? "Mean over the seeds with Student's 95 % interval; rings: the seeds"
                              : "Mean over the seeds; rings: the seeds"
      : intervals ? "One seed; the 95 % interval is of the held-out text, not of other trainings"
                  : "One seed: its noise is not known";
  if (several && of_text) chart.subtitle += "; of one seed: of the held-out text alone";
  if (metric.format.style == NumberFormat::Style::percent) {
    for (Dot& dot : chart.dots) {
      if (dot.label.empty()) dot.label = format_number(dot.value, metric.format);
      dot.value *= kPercent;
      for (double& part : dot.parts) part *= kPercent;
      if (dot.low) *dot.low *= kPercent;
      if (dot.high) *dot.high *= kPercent;
    }
    for (ReferenceLine& line : chart.references) line.value *= kPercent;
  }
  charts.push_back({.name = "figures", .chart = std::move(chart)});
}

void add_lengths(const StudySettings& study, const StudyResults& results,
                 std::vector<NamedChart>& charts) {
  if (results.lengths.empty()) return;
  std::map<std::string, std::string> families;
  for (const LengthRow& row : results.lengths) families[row.title] = family_of(row.scheme);
  std::size_t number = 0;
  for (LineChart& chart : length_charts(results.lengths, common_training_length(study))) {
    std::vector<std::string> of_series;
    for (const Series& series : chart.series) of_series.push_back(families[series.name]);
    // A pair of charts for the models as trained, then one for each scheme with variants.
    const std::string kind = number % 2 == 0 ? "lengths" : "positions";
    const std::string name = number < 2 ? kind : fmt::format("{}_{}", kind, number / 2 + 1);
    charts.push_back({.name = name, .chart = by_family(std::move(chart), of_series)});
    ++number;
  }
}

void add_translations(const StudySettings& study, const StudyResults& results,
                      const std::vector<StudyRow>& rows, std::vector<NamedChart>& charts) {
  if (!results.translations || results.translations->by_length.series.empty()) return;
  const LineChart& chart = results.translations->by_length;
  std::vector<std::string> families;
  for (const Series& series : chart.series) {
    const auto row = std::ranges::find(rows, series.name, &StudyRow::title);
    families.push_back(row == rows.end() ? "" : family_of_row(study, *row));
  }
  charts.push_back({.name = "bleu_by_length", .chart = by_family(chart, families)});
}

}  // namespace

std::string family_of(const std::string& scheme) {
  const PositionFacts* const facts = find_position_facts(scheme);
  return facts == nullptr ? "" : std::string(facts->family);
}

StudyChart by_family(LineChart chart, const std::vector<std::string>& families) {
  std::vector<std::string> different;
  for (const std::string& family : families) add_once(different, family);
  if (chart.series.size() <= kMostLines || different.size() < 2) return chart;
  LineChartGrid grid{.title = chart.title,
                     .subtitle = chart.subtitle +
                                 "; a chart for each family of schemes, the others "
                                 "in grey"};
  for (const std::string& family : different) {
    LineChart panel = chart;
    panel.title = family;
    panel.subtitle.clear();
    panel.series.clear();
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      (families[i] == family ? panel.series : panel.context).push_back(chart.series[i]);
    }
    grid.panels.push_back(std::move(panel));
  }
  return grid;
}

std::optional<StudyChart> curve_chart(LineChart chart, const Column& metric,
                                      const std::vector<std::string>& families) {
  // If a chart would have only points, the table suffices.
  if (std::ranges::all_of(chart.series, is_point)) return std::nullopt;
  const bool points = std::ranges::any_of(chart.series, is_point);
  chart.markers = points ? LineChart::Markers::always : LineChart::Markers::never;
  if (metric.format.style == NumberFormat::Style::percent) {
    for (Series& one : chart.series) {
      for (std::vector<double>* const values : {&one.y, &one.low, &one.high}) {
        for (double& value : *values) value *= kPercent;
      }
    }
    for (ReferenceLine& line : chart.references) line.value *= kPercent;
  }
  return by_family(std::move(chart), families);
}

std::vector<NamedChart> study_charts(const StudySettings& study, const StudyResults& results) {
  const std::vector<StudyRow> rows = chosen_rows(study, results.rows);
  std::vector<NamedChart> charts;
  add_curves(study, results, rows, charts);
  add_figures(study, results, rows, charts);
  add_lengths(study, results, charts);
  add_translations(study, results, rows, charts);
  return charts;
}

Drawing draw(const StudyChart& chart) {
  return std::visit([](const auto& one) { return draw(one); }, chart);
}

}  // namespace roformer
