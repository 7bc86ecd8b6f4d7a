#include "experiments/run_page.h"

#include <fmt/format.h>

#include <cctype>
#include <optional>
#include <utility>

#include "base/progress.h"
#include "config/dump.h"
#include "config/task_facts.h"
#include "experiments/metric.h"
#include "experiments/stored_run_tables.h"
#include "experiments/study_results.h"
#include "experiments/study_rows.h"
#include "report/html.h"

namespace roformer {
namespace {

// A long training has more log lines than a chart has pixels.
Series thinned_series(const std::string& name, const std::vector<CurvePoint>& curve) {
  constexpr std::size_t kMostPoints = 600;
  const std::size_t stride = curve.size() / kMostPoints + 1;
  Series series{.name = name};
  for (std::size_t i = 0; i < curve.size(); ++i) {
    if (i % stride != 0 && i + 1 != curve.size()) continue;
    series.x.push_back(curve[i].x);
    series.y.push_back(curve[i].y);
  }
  return series;
}

std::optional<StudyChart> chart_of(const ComparedRuns& runs, const std::string& name) {
  const Column metric = metric_column(name);
  LineChart chart{.title = metric.title + " over the steps",
                  .x = {.title = "steps"},
                  .y = {.title = metric.title, .unit = metric.unit}};
  std::vector<std::string> families;
  for (std::size_t i = 0; i < runs.rows.size(); ++i) {
    const RunResult& run = runs.rows[i].runs.front();
    chart.series.push_back(thinned_series(run.name, run.curves.at(name)));
    families.push_back(family_of(runs.study.runs[i].settings.position.scheme));
  }
  return curve_chart(std::move(chart), metric, families);
}

void add_run_curves(HtmlReport& report, const ComparedRuns& runs) {
  std::vector<StudyChart> charts;
  for (const std::string& name : shared_curves(runs)) {
    // The rate of one run shows its schedule; those of several runs are in their settings.
    if (name == "learning_rate" && runs.rows.size() > 1) continue;
    if (name.ends_with("standard_error")) continue;  // tells nothing of the training
    if (auto chart = chart_of(runs, name)) charts.push_back(std::move(*chart));
  }
  if (charts.empty()) return;
  report.section("Curves");
  for (const StudyChart& chart : charts) {
    std::visit([&](const auto& one) { report.chart(one); }, chart);
  }
}

void add_run_key_figures(HtmlReport& report, const StoredRun& run) {
  std::vector<HtmlReport::KeyFigure> figures;
  if (const ValidationRecord* const best = run.so_far.best()) {
    const Column column = metric_column(metric_of(best->ranking.figure, run.settings()));
    figures.push_back({.value = format_number(best->ranked(), column.format),
                       .name = "best " + column.heading(),
                       .remark = "at step " + format_count(best->step)});
  }
  figures.push_back({.value = format_count(run.steps()), .name = "steps"});
  if (run.so_far.parameters > 0) {
    figures.push_back({.value = format_count(run.so_far.parameters), .name = "parameters"});
  }
  if (run.so_far.consumed.minutes > 0) {
    figures.push_back({.value = format_duration(60 * run.so_far.consumed.minutes),
                       .name = "training",
                       .remark = "validations not counted"});
  }
  report.key_figures(figures);
}

constexpr const char* kSideBySide = "Their curves, settings and figures side by side";

// "Masked language model with rope: finished after step 400"
std::string sentence_of(const StoredRun& run) {
  std::string text(task_facts(run.settings().task).title);
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return fmt::format("{} with {}: {}", text, run.settings().position.scheme, state_sentence(run));
}

void add_run(HtmlReport& report, const StoredRun& run, const std::vector<StoredRun>& others) {
  std::vector<std::string> children;
  for (const StoredRun* const child : started_from(run.folder, others)) {
    children.push_back(child->name);
  }
  report.table(run_facts(run, children));
  const Table figures = figure_table(run), checkpoints = checkpoint_table(run);
  if (!figures.rows().empty()) report.table(figures);
  if (!checkpoints.rows().empty()) report.table(checkpoints);
}

}  // namespace

std::string run_page(const std::vector<StoredRun>& runs, const std::vector<StoredRun>& others,
                     const Origin& origin) {
  const bool alone = runs.size() == 1;
  const StoredRun& first = runs.front();
  HtmlReport report({.title = alone ? first.name : fmt::format("{} runs", runs.size()),
                     .subtitle = alone ? sentence_of(first) : kSideBySide,
                     .footer = origin.footer()});
  const ComparedRuns compared = compared_runs(runs);
  if (alone) add_run_key_figures(report, first);
  add_run_curves(report, compared);
  if (!alone) {
    report.section("Figures");
    report.table(compared_figures(compared, runs),
                 compared.of_one_task
                     ? "Of the best validation of each run so far."
                     : "Of the best validation of each run so far. The tasks differ: these are the "
                       "figures that all runs have, and none is the best.");
    const Table settings = setting_differences(compared);
    report.section("Settings that differ");
    settings.rows().empty() ? report.paragraph("None.") : report.table(settings);
  }
  report.section(alone ? "The run" : "The runs");
  for (const StoredRun& run : runs) {
    if (!alone) report.paragraph("**" + run.name + "**");
    add_run(report, run, others);
    report.details("Configuration of " + run.name, dump(run.settings(), DumpStyle::compact));
  }
  return report.html();
}

}  // namespace roformer
