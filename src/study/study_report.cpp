#include "study/study_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/file.h"
#include "base/progress.h"
#include "config/dump.h"
#include "config/study_metrics.h"
#include "config/task_facts.h"
#include "metrics/statistics.h"
#include "report/html.h"
#include "study/chosen_rows.h"
#include "study/difference_table.h"
#include "study/length_report.h"
#include "study/metric.h"
#include "study/provenance.h"
#include "study/spread_table.h"
#include "study/training_run.h"

namespace roformer {
namespace {

// With "(1 of 3)" behind it where not all runs have the figure.
std::string shared_title(const StudyRow& row, const std::string& metric) {
  const std::string share = row.share(metric);
  return share.empty() ? row.title() : fmt::format("{} ({})", row.title(), share);
}

// The mean over a row's finished runs where all of them have a point, and one deviation to either
// side where there are several.
Series row_series(const StudyRow& row, const std::string& metric) {
  std::map<double, std::vector<double>> points;
  std::size_t runs = 0;
  for (const RunResult& run : row.runs) {
    const auto curve = run.curves.find(metric);
    if (run.state != RunResult::State::finished || curve == run.curves.end()) continue;
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

bool any_band(const LineChart& chart) {
  return std::any_of(chart.series.begin(), chart.series.end(),
                     [](const Series& series) { return !series.low.empty(); });
}

void add_curves(HtmlReport& report, const StudySettings& study, const std::vector<StudyRow>& rows) {
  const std::string figure = median_of(study.metric).value_or(study.metric);
  const Column metric = metric_column(figure);
  LineChart chart{.title = metric.title + " over the steps",
                  .x = {.title = "steps"},
                  .y = {.title = metric.title},
                  .markers = LineChart::Markers::never};
  for (const StudyRow& row : rows) {
    Series series = row_series(row, figure);
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  constexpr std::size_t kMost = 24;  // more cannot be told apart
  if (chart.series.empty() || chart.series.size() > kMost) return;
  chart.subtitle = any_band(chart) ? "Mean over the seeds, the band is one standard deviation wide "
                                     "to either side; same held-out text and masks for all"
                                   : "Same held-out text and masks for all";
  report.section("Curves");
  report.chart(chart);
}

bool any_best_validation(const StudySettings& study) {
  return std::any_of(study.runs.begin(), study.runs.end(), shows_best_validation);
}

// Which validation the figures are of.
std::string validation_sentence(const StudySettings& study) {
  if (!any_best_validation(study)) return "Figures of the last validation.";
  if (std::all_of(study.runs.begin(), study.runs.end(), shows_best_validation)) {
    return "Figures of the best validation: training.patience ends the runs after it.";
  }
  return "Figures of the last validation; of the best where training.patience ends the run.";
}

void add_bars(HtmlReport& report, const StudySettings& study, const std::vector<StudyRow>& rows) {
  const Column metric = metric_column(study.metric);
  BarSeries bars{.name = metric.title};
  BarChart chart{.title = metric.title + (any_best_validation(study) ? "" : " at the end"),
                 .value = {.title = metric.title, .unit = metric.unit},
                 .format = metric.format};
  for (const StudyRow& row : rows) {
    const std::vector<double> values = row.figures(study.metric);
    if (values.empty()) continue;
    chart.categories.push_back(shared_title(row, study.metric));
    bars.values.push_back(row.value(study.metric));
    bars.deviations.push_back(sample_standard_deviation(values));
  }
  const bool several = std::any_of(bars.deviations.begin(), bars.deviations.end(),
                                   [](double deviation) { return deviation > 0; });
  if (!several) bars.deviations.clear();
  if (chart.categories.size() < 2) return;
  chart.series.push_back(std::move(bars));
  report.chart(chart);
}

std::size_t count_runs(const std::vector<StudyRow>& rows, RunResult::State state) {
  std::size_t count = 0;
  for (const StudyRow& row : rows) {
    count += static_cast<std::size_t>(
        std::count_if(row.runs.begin(), row.runs.end(),
                      [state](const RunResult& run) { return run.state == state; }));
  }
  return count;
}

// Of a figure over all finished runs.
double total(const std::vector<StudyRow>& rows, const std::string& metric) {
  double sum = 0;
  for (const StudyRow& row : rows) {
    for (const double value : row.figures(metric)) sum += value;
  }
  return sum;
}

void add_key_figures(HtmlReport& report, const StudySettings& study,
                     const std::vector<StudyRow>& rows) {
  const Column metric = metric_column(study.metric);
  std::vector<HtmlReport::KeyFigure> figures;
  const StudyRow* best = nullptr;  // of those that all runs have come to
  for (const StudyRow& row : rows) {
    if (!row.share(study.metric).empty() || std::isnan(row.value(study.metric))) continue;
    if (best == nullptr || ranks_before(row, *best, metric)) best = &row;
  }
  if (best != nullptr && metric.best != Column::Best::none) {
    figures.push_back({.value = best->title(),
                       .name = "best " + metric.title,
                       .remark = format_number(best->value(study.metric), metric.format)});
  }
  const std::size_t finished = count_runs(rows, RunResult::State::finished);
  figures.push_back(
      {.value = fmt::format("{} of {}", finished, study.runs.size()), .name = "runs finished"});
  if (finished > 0) {
    const double tokens = total(rows, "tokens") / static_cast<double>(finished);
    figures.push_back({.value = format_number(tokens / 1e6, {NumberFormat::Style::fixed, 2}) + " M",
                       .name = "tokens a run"});
    figures.push_back({.value = format_duration(60 * total(rows, "minutes")),
                       .name = "training, all runs",
                       .remark = "validations not counted"});
  }
  report.key_figures(figures);
}

std::string paper_sources(const StudySettings& study) {
  std::vector<std::string> sources;
  for (const PaperValue& value : study.paper) {
    const bool there = std::find(sources.begin(), sources.end(), value.source) != sources.end();
    if (!value.source.empty() && !there) sources.push_back(value.source);
  }
  return fmt::format("{}", fmt::join(sources, "; "));
}

std::string table_caption(const StudySettings& study, const std::vector<StudyRow>& rows) {
  const bool labelled = task_facts(study.runs.front().settings.task).labelled;
  std::string text = validation_sentence(study);
  text += labelled
              ? " The score is the task's own metric; a collapsed run gives every example of the "
                "validation set the same label."
              : " The best of each column is bold. Loss at 25, 50 and 75 % of the steps: the "
                "nearest validation before.";
  if (!study.choose.empty()) {
    text += fmt::format(" Of {} the value with the best mean on the validation set.", study.choose);
  }
  for (const StudyAxis& axis : study.axes) {
    if (axis.key == "seed" && axis.values.size() > 1) {
      text += fmt::format(" Mean ± standard deviation over {} seeds.", axis.values.size());
      const bool partly = std::any_of(rows.begin(), rows.end(), [&](const StudyRow& row) {
        return !row.share(study.metric).empty() && !row.figures(study.metric).empty();
      });
      if (partly) text += " \"(1 of 3)\": not all of them; such a row is never the best.";
    }
  }
  const std::string sources = paper_sources(study);
  if (!sources.empty()) text += " The paper's values: " + sources + ".";
  return text;
}

void add_lengths(HtmlReport& report, const StudySettings& study,
                 const std::vector<LengthRow>& lengths) {
  if (lengths.empty()) return;
  const std::optional<std::int64_t> training_length = common_training_length(study);
  report.section("At other lengths");
  report.table(length_table(lengths, training_length),
               fmt::format("Loss in nats of the same held-out text in rows of each length; {}. {} "
                           "The best of each column is bold.",
                           training_length ? fmt::format("trained at {}", *training_length)
                                           : "not all were trained at the same length",
                           weights_sentence(lengths)));
  const Table missing = missing_lengths(lengths);
  if (!missing.rows().empty()) report.table(missing);
  for (const LineChart& chart : length_charts(lengths, training_length)) report.chart(chart);
}

const StudyRun* first_good(const StudySettings& study) {
  for (const StudyRun& run : study.runs) {
    if (run.refusals.empty()) return &run;
  }
  return nullptr;
}

}  // namespace

std::string study_html(const StudySettings& study, const std::vector<StudyRow>& rows,
                       const StudyOrigin& origin, const std::vector<LengthRow>& lengths) {
  std::string axes;
  for (const StudyAxis& axis : study.axes) axes += (axes.empty() ? "" : " × ") + axis.key;
  HtmlReport report({.title = study.name,
                     .subtitle = fmt::format("A study of {} runs: {}", study.runs.size(), axes),
                     .footer = fmt::format("`{}`, roformer {} ({})", origin.command, origin.version,
                                           origin.commit)});
  const std::vector<StudyRow> chosen = chosen_rows(study, rows);
  add_key_figures(report, study, rows);
  add_curves(report, study, chosen);
  report.section("Results");
  if (!study.spread.empty()) report.table(spread_table(study, chosen, TableUse::page));
  report.table(study_table(study, chosen, TableUse::page), table_caption(study, chosen));
  if (!study.note.empty()) report.paragraph(study.note);
  const Table missing = missing_table(rows);
  if (!missing.rows().empty()) report.table(missing);
  add_bars(report, study, chosen);
  const Table differences = difference_table(study, chosen);
  if (!differences.rows().empty()) report.table(differences, difference_caption(study));
  if (!study.choose.empty()) {
    report.section("Every value of " + study.choose);
    report.table(study_table(study, rows, TableUse::page));
  }
  add_lengths(report, study, lengths);
  report.section("How it was made");
  report.paragraph(fmt::format("Again: `{}`", origin.command));
  report.table(provenance_table(rows));
  report.table(runs_table(rows),
               "Each run with its own command; its folder holds the configuration, "
               "the log, the metrics and the weights.");
  if (const StudyRun* run = first_good(study)) {
    report.details("Configuration of the run " + run->name,
                   dump(run->settings, DumpStyle::compact));
  }
  return report.html();
}

std::string study_json(const StudySettings& study, const std::vector<StudyRow>& rows,
                       const StudyOrigin& origin) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  for (const StudyRow& row : rows) {
    for (const RunResult& run : row.runs) {
      nlohmann::ordered_json entry = {{"name", run.name}, {"state", state_word(run.state)}};
      if (!run.remark.empty()) entry["remark"] = run.remark;
      for (std::size_t axis = 0; axis < study.axes.size(); ++axis) {
        entry["axes"][study.axes[axis].key] = run.values[axis];
      }
      entry["figures"] = run.figures;
      for (const auto& [metric, points] : run.curves) {
        for (const CurvePoint& point : points)
          entry["curves"][metric].push_back({point.x, point.y});
      }
      entry["record"] = run.record;
      runs.push_back(std::move(entry));
    }
  }
  const std::vector<StudyRow> chosen = chosen_rows(study, rows);
  const nlohmann::ordered_json document = {
      {"format", "roformer study"},
      {"version", 1},
      {"study", study.name},
      {"metric", study.metric},
      {"command", origin.command},
      {"rows", to_json(study_table(study, chosen, TableUse::data))},
      {"differences", to_json(difference_table(study, chosen))},
      {"runs", std::move(runs)}};
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::filesystem::path write_study_report(const std::filesystem::path& folder,
                                         const StudySettings& study,
                                         const std::vector<StudyRow>& rows,
                                         const StudyOrigin& origin,
                                         const std::vector<LengthRow>& lengths) {
  make_directories(folder);
  const std::vector<StudyRow> chosen = chosen_rows(study, rows);
  std::string markdown = to_markdown(study_table(study, chosen, TableUse::document));
  if (!study.spread.empty()) {
    markdown = to_markdown(spread_table(study, chosen, TableUse::document)) + "\n" + markdown;
    write_file_atomically(folder / "spread.csv",
                          to_csv(spread_table(study, chosen, TableUse::data)));
  }
  markdown += "\n" + validation_sentence(study) + "\n";
  const Table differences = difference_table(study, chosen);
  if (!differences.rows().empty()) {
    markdown += "\n" + to_markdown(differences) + "\n" + difference_caption(study) + "\n";
  }
  if (!study.note.empty()) markdown += "\n" + study.note + "\n";
  write_file_atomically(folder / "table.md", markdown);
  write_file_atomically(folder / "table.csv", to_csv(study_table(study, chosen, TableUse::data)));
  write_file_atomically(folder / "table.json", study_json(study, rows, origin));
  write_file_atomically(folder / "report.html", study_html(study, rows, origin, lengths));
  if (!lengths.empty()) {
    const Table at_lengths = length_table(lengths, common_training_length(study));
    const Table missing = missing_lengths(lengths);
    write_file_atomically(folder / "lengths.csv", to_csv(at_lengths));
    write_file_atomically(folder / "lengths.json", to_json(at_lengths).dump(2) + "\n");
    write_file_atomically(folder / "lengths.md",
                          to_markdown(at_lengths) + "\n" + weights_sentence(lengths) + "\n" +
                              (missing.rows().empty() ? "" : "\n" + to_markdown(missing)));
  }
  return folder / "report.html";
}

}  // namespace roformer
