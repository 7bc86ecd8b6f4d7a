#include "experiments/study_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/few_of.h"
#include "base/file.h"
#include "base/progress.h"
#include "config/dump.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "experiments/difference_table.h"
#include "experiments/study_rows.h"
#include "experiments/study_table.h"
#include "report/html.h"
#include "report/table_format.h"

namespace roformer {
namespace {

// The sum of a figure over all finished runs.
double total(const std::vector<StudyRow>& rows, const std::string& metric) {
  double sum = 0;
  for (const StudyRow& row : rows) {
    for (const double value : row.figures(metric)) sum += value;
  }
  return sum;
}

// The best row. With several seeds, the test of differences decides whether it is better than the
// next row. With one seed this is unknown, and the text says so.
std::optional<HtmlReport::KeyFigure> first_place(const StudySettings& study,
                                                 const std::vector<StudyRow>& all,
                                                 const Column& metric) {
  constexpr double kSure = 0.05;
  const std::vector<StudyRow> rows = chosen_rows(study, all);
  const StudyRow *best = nullptr, *next = nullptr;
  for (const StudyRow& row : rows) {  // only rows whose runs all have the figure
    if (!row.share(study.metric).empty() || std::isnan(row.value(study.metric))) continue;
    if (study.version > 0 && !row.ranked(study.metric)) continue;
    if (best == nullptr || ranks_before(row, *best, metric)) {
      next = std::exchange(best, &row);
    } else if (next == nullptr || ranks_before(row, *next, metric)) {
      next = &row;
    }
  }
  if (best == nullptr) return std::nullopt;
  const std::string value = format_number(best->value(study.metric), metric.format);
  HtmlReport::KeyFigure figure{
      .value = best->title(), .name = "best " + metric.title, .remark = value};
  if (next == nullptr) return figure;
  const std::string other = fmt::format("{} has {}", next->title(),
                                        format_number(next->value(study.metric), metric.format));
  if (!best->ranked(study.metric) || !next->ranked(study.metric)) {
    figure.name += ", of one seed";
    figure.remark += "; " + other;
    return figure;
  }
  const std::optional<double> p = p_value_of(study, rows, *best, *next);
  if (!p || *p < kSure) return figure;
  return HtmlReport::KeyFigure{
      .value = "not decided",
      .name = "best " + metric.title,
      .remark = fmt::format("{} has {}, {} (p {:.2g})", best->title(), value, other, *p)};
}

void add_key_figures(HtmlReport& report, const StudySettings& study,
                     const std::vector<StudyRow>& rows) {
  const Column metric = metric_column_of(study, rows, study.metric);
  std::vector<HtmlReport::KeyFigure> figures;
  if (metric.best != Column::Best::none) {
    if (auto first = first_place(study, rows, metric)) figures.push_back(std::move(*first));
  }
  std::ptrdiff_t finished = 0;
  for (const StudyRow& row : rows)
    finished += std::ranges::count_if(row.runs, &RunResult::finished);
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

void add_chart(HtmlReport& report, const std::vector<NamedChart>& charts, const std::string& name) {
  for (const NamedChart& one : charts) {
    if (one.name != name) continue;
    std::visit([&](const auto& chart) { report.chart(chart); }, one.chart);
  }
}

void add_table(HtmlReport& report, const std::vector<StudyTable>& tables, std::string_view name) {
  const StudyTable* const table = find_table(tables, name);
  if (table != nullptr) report.table(table->table, table->caption);
}

void add_lengths(HtmlReport& report, const std::vector<StudyTable>& tables,
                 const std::vector<NamedChart>& charts) {
  report.section("At other lengths");
  add_table(report, tables, "lengths");
  add_table(report, tables, "missing_lengths");
  for (const NamedChart& one : charts) {
    const bool own = one.name.starts_with("lengths") || one.name.starts_with("positions");
    if (own) add_chart(report, charts, one.name);
  }
}

void add_translations(HtmlReport& report, const std::vector<StudyTable>& tables,
                      const TranslationReport& translations,
                      const std::vector<NamedChart>& charts) {
  report.section("Translations");
  add_table(report, tables, "translations");
  add_table(report, tables, "missing_translations");
  add_table(report, tables, "translation_tests");
  add_chart(report, charts, "bleu_by_length");
  report.section("Examples");
  report.paragraph(translations.examples_caption);
  for (const Table& example : translations.examples) report.table(example);
}

// The text of each formula of the runs, since configurations only name formulas and their files may
// change.
void add_formulas(HtmlReport& report, const StudySettings& study) {
  std::vector<std::pair<std::string, std::vector<std::string>>> formulas;  // with their runs
  for (const StudyRun& run : study.runs) {
    if (!uses_scheme(run.settings.position, "formula")) continue;
    std::string text;
    for (const Key& key : schema()) {
      if (key.scheme() != "formula" || !key.name.starts_with("position.formula.")) continue;
      const std::string value = key.get(run.settings);
      if (!value.empty()) text += fmt::format("{}: {}\n", key.name, value);
    }
    auto known = std::ranges::find(formulas, text, [](const auto& one) { return one.first; });
    if (known == formulas.end()) known = formulas.insert(known, {text, {}});
    known->second.push_back(run.name);
  }
  for (const auto& [text, runs] : formulas) report.details("Formula of " + few_of(runs), text);
}

}  // namespace

std::string study_html(const StudySettings& study, const StudyResults& results,
                       const Origin& origin) {
  const std::vector<StudyRow>& rows = results.rows;
  std::vector<std::string> axes;
  for (const StudyAxis& axis : study.axes) axes.push_back(axis.key);
  HtmlReport report(
      {.title = study.name,
       .subtitle = fmt::format("A study of {} runs: {}", study.runs.size(), fmt::join(axes, " × ")),
       .footer = origin.footer()});
  const std::vector<StudyTable> tables = study_tables(study, results, TableUse::page);
  const std::vector<NamedChart> charts = study_charts(study, results);
  add_key_figures(report, study, rows);
  if (std::ranges::find(charts, "curves", &NamedChart::name) != charts.end()) {
    report.section("Curves");
  }
  add_chart(report, charts, "curves");
  report.section("Results");
  add_table(report, tables, "spread");
  add_table(report, tables, "results");
  if (!study.note.empty()) report.paragraph(study.note);
  add_table(report, tables, "missing");
  add_chart(report, charts, "figures");
  add_table(report, tables, "differences");
  add_table(report, tables, "target_differences");
  if (!study.choose.empty()) {
    report.section("Every value of " + study.choose);
    report.table(study_table(study, rows, TableUse::page));
  }
  if (results.translations) add_translations(report, tables, *results.translations, charts);
  if (results.tuning) {
    report.section("What was tuned");
    add_table(report, tables, "tuning");
  }
  if (!results.lengths.empty()) add_lengths(report, tables, charts);
  report.section("How it was made");
  report.paragraph(fmt::format("Again: `{}`", origin.command));
  report.table(provenance_table(rows));
  report.table(runs_table(rows),
               "Each run with its own command; its folder holds the configuration, "
               "the log, the metrics and the weights.");
  if (!study.text.empty()) {
    report.details("The study's file, " + study.file.filename().string(), study.text);
  }
  add_formulas(report, study);
  const auto run =
      std::ranges::find_if(study.runs, [](const StudyRun& one) { return one.refusals.empty(); });
  if (run != study.runs.end()) {
    report.details("Configuration of the run " + run->name,
                   dump(run->settings, DumpStyle::compact));
  }
  return report.html();
}

std::string study_json(const StudySettings& study, const StudyResults& results,
                       const Origin& origin) {
  const std::vector<StudyRow>& rows = results.rows;
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
  nlohmann::ordered_json document = {
      {"format", "roformer study"}, {"version", 1},
      {"study", study.name},        {"metric", study.metric},
      {"command", origin.command},  {"rows", nlohmann::ordered_json::array()}};
  for (const StudyTable& one : study_tables(study, results, TableUse::data)) {
    if (!one.of_missing) document[one.name == "results" ? "rows" : one.name] = to_json(one.table);
  }
  document["runs"] = std::move(runs);
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::filesystem::path write_study_report(const std::filesystem::path& folder,
                                         const StudySettings& study, const StudyResults& results,
                                         const Origin& origin) {
  make_directories(folder);
  const InnerPath study_folder = InnerPath::named(folder);
  std::string markdown, latex;
  for (const StudyTable& one : study_tables(study, results, TableUse::document)) {
    markdown += (markdown.empty() ? "" : "\n") + to_markdown(one.table);
    if (!one.caption.empty()) markdown += "\n" + one.caption + "\n";
    const bool first = one.title.empty();  // its caption is about the page
    latex += (latex.empty() ? "" : "\n") +
             to_latex(one.table,
                      {.title = first ? study.name : one.title, .note = first ? "" : one.caption});
  }
  if (!study.note.empty()) markdown += "\n" + study.note + "\n";
  write_file_atomically(study_folder / "table.md", markdown);
  write_file_atomically(study_folder / "table.tex", latex);
  const std::vector<StudyTable> tables = study_tables(study, results, TableUse::data);
  for (const char* const name : kStudyTableNames) {
    const InnerPath file =
        study_folder / (std::string(name == std::string_view("results") ? "table" : name) + ".csv");
    std::error_code error;
    if (const StudyTable* const table = find_table(tables, name)) {
      write_file_atomically(file, to_csv(table->table));
    } else {
      std::filesystem::remove(file.path(), error);  // an earlier version of the study had it
    }
  }
  write_file_atomically(study_folder / "table.json", study_json(study, results, origin));
  write_file_atomically(study_folder / "report.html", study_html(study, results, origin));
  return folder / "report.html";
}

}  // namespace roformer
