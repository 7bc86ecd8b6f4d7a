#include "results/study_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/progress.h"
#include "config/dump.h"
#include "config/task_facts.h"
#include "report/html.h"
#include "results/chosen_rows.h"
#include "results/difference_table.h"
#include "results/length_report.h"
#include "results/metric.h"
#include "results/provenance.h"
#include "results/spread_table.h"
#include "results/study_charts.h"
#include "results/study_runs.h"
#include "results/target_differences.h"

namespace roformer {
namespace {

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

// Several seeds that all go on from one pretraining say nothing of the pretraining's own noise.
std::string checkpoint_sentence(const StudySettings& study) {
  const auto seeds = std::find_if(study.axes.begin(), study.axes.end(),
                                  [](const StudyAxis& axis) { return axis.key == "seed"; });
  if (seeds == study.axes.end() || seeds->values.size() < 2) return "";
  const auto index = static_cast<std::size_t>(seeds - study.axes.begin());
  // From where the runs of each row start.
  std::map<std::vector<std::string>, std::set<std::string>> sources;
  for (const StudyRun& run : study.runs) {
    if (run.settings.model.from.empty() || !run.settings.model.from_weights) return "";
    std::vector<std::string> labels = run.values;
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(index));
    sources[labels].insert(run.settings.model.from.string());
  }
  for (const auto& [labels, from] : sources) {
    if (from.size() > 1) return "";
  }
  return " The seeds are of the fine-tuning: all of a row go on from one pretraining, so that "
         "deviations and tests compare these checkpoints, not the schemes that they were trained "
         "with.";
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
  const Column metric = metric_column_of(study, rows, study.metric);
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
  text +=
      labelled ? " The score is the task's own metric; a collapsed run gives every example of the "
                 "validation set the same label."
      : of_several_questions(study, rows)
          ? " Losses and accuracies are of the pieces of each row's own vocabulary, or of its own "
            "kind of questions: they do not compare between those, and none of them is marked; of "
            "other columns the best is bold."
          : " The best of each column is bold.";
  const Table table = study_table(study, rows, TableUse::data);
  const bool shares =
      std::any_of(table.columns().begin(), table.columns().end(),
                  [](const Column& column) { return column.key.starts_with("loss_at_"); });
  if (shares) text += " Loss at 25, 50 and 75 % of the steps: the nearest validation before.";
  text += checkpoint_sentence(study);
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

void add_chart(HtmlReport& report, const std::vector<NamedChart>& charts, const std::string& name) {
  for (const NamedChart& one : charts) {
    if (one.name != name) continue;
    std::visit([&](const auto& chart) { report.chart(chart); }, one.chart);
  }
}

void add_lengths(HtmlReport& report, const StudySettings& study,
                 const std::vector<LengthRow>& lengths, const std::vector<NamedChart>& charts) {
  if (lengths.empty()) return;
  const std::optional<std::int64_t> training_length = common_training_length(study);
  report.section("At other lengths");
  report.table(
      length_table(lengths, training_length),
      fmt::format(
          "Loss in nats of held-out text in rows of each length, the same rows for "
          "all of a column; {}. {} ± is the standard deviation over the seeds, where there are "
          "several. The best of each column is bold.",
          training_length ? fmt::format("trained at {}", *training_length)
                          : "not all were trained at the same length",
          weights_sentence(lengths)));
  const Table missing = missing_lengths(lengths);
  if (!missing.rows().empty()) report.table(missing);
  for (const NamedChart& one : charts) {
    const bool own = one.name.starts_with("lengths") || one.name.starts_with("positions");
    if (own) add_chart(report, charts, one.name);
  }
}

void add_translations(HtmlReport& report, const TranslationReport& translations,
                      const std::vector<NamedChart>& charts) {
  report.section("Translations");
  report.table(translations.scores, translations.scores_caption);
  if (!translations.missing.rows().empty()) report.table(translations.missing);
  if (!translations.tests.rows().empty()) {
    report.table(translations.tests, translations.tests_caption);
  }
  add_chart(report, charts, "bleu_by_length");
  report.section("Examples");
  report.paragraph(translations.examples_caption);
  for (const Table& example : translations.examples) report.table(example);
}

const StudyRun* first_good(const StudySettings& study) {
  for (const StudyRun& run : study.runs) {
    if (run.refusals.empty()) return &run;
  }
  return nullptr;
}

}  // namespace

std::string study_html(const StudySettings& study, const StudyResults& results,
                       const Origin& origin) {
  const std::vector<StudyRow>& rows = results.rows;
  std::string axes;
  for (const StudyAxis& axis : study.axes) axes += (axes.empty() ? "" : " × ") + axis.key;
  HtmlReport report({.title = study.name,
                     .subtitle = fmt::format("A study of {} runs: {}", study.runs.size(), axes),
                     .footer = origin.footer()});
  const std::vector<StudyRow> chosen = chosen_rows(study, rows);
  const std::vector<NamedChart> charts = study_charts(study, results);
  add_key_figures(report, study, rows);
  const bool curves = std::any_of(charts.begin(), charts.end(),
                                  [](const NamedChart& one) { return one.name == "curves"; });
  if (curves) report.section("Curves");
  add_chart(report, charts, "curves");
  report.section("Results");
  if (!study.spread.empty()) report.table(spread_table(study, chosen, TableUse::page));
  report.table(study_table(study, chosen, TableUse::page), table_caption(study, chosen));
  if (!study.note.empty()) report.paragraph(study.note);
  const Table missing = missing_table(rows);
  if (!missing.rows().empty()) report.table(missing);
  add_chart(report, charts, "figures");
  const Table differences = difference_table(study, chosen);
  if (!differences.rows().empty()) report.table(differences, difference_caption(study, chosen));
  const Table paired = target_difference_table(study, chosen);
  if (!paired.rows().empty()) report.table(paired, target_difference_caption(study));
  if (!study.choose.empty()) {
    report.section("Every value of " + study.choose);
    report.table(study_table(study, rows, TableUse::page));
  }
  if (results.translations) add_translations(report, *results.translations, charts);
  if (results.tuning) {
    report.section("What was tuned");
    report.table(tuning_table(*study.tuning, *results.tuning), tuning_sentence(*study.tuning));
  }
  add_lengths(report, study, results.lengths, charts);
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
                                         const StudySettings& study, const StudyResults& results,
                                         const Origin& origin) {
  make_directories(folder);
  const std::vector<StudyRow>& rows = results.rows;
  const std::vector<LengthRow>& lengths = results.lengths;
  const std::vector<StudyRow> chosen = chosen_rows(study, rows);
  std::string markdown = to_markdown(study_table(study, chosen, TableUse::document));
  if (!study.spread.empty()) {
    markdown = to_markdown(spread_table(study, chosen, TableUse::document)) + "\n" + markdown;
    write_file_atomically(folder / "spread.csv",
                          to_csv(spread_table(study, chosen, TableUse::data)));
  }
  markdown += "\n" + validation_sentence(study) + checkpoint_sentence(study) + "\n";
  const Table differences = difference_table(study, chosen);
  if (!differences.rows().empty()) {
    markdown += "\n" + to_markdown(differences) + "\n" + difference_caption(study, chosen) + "\n";
  }
  if (const auto& translations = results.translations) {
    markdown +=
        "\n" + to_markdown(translations->scores) + "\n" + translations->scores_caption + "\n";
    if (!translations->tests.rows().empty()) {
      markdown +=
          "\n" + to_markdown(translations->tests) + "\n" + translations->tests_caption + "\n";
    }
  }
  if (results.tuning) {
    markdown += "\n" + to_markdown(tuning_table(*study.tuning, *results.tuning)) + "\n" +
                tuning_sentence(*study.tuning) + "\n";
  }
  if (!study.note.empty()) markdown += "\n" + study.note + "\n";
  write_file_atomically(folder / "table.md", markdown);
  write_file_atomically(folder / "table.csv", to_csv(study_table(study, chosen, TableUse::data)));
  write_file_atomically(folder / "table.json", study_json(study, results, origin));
  write_file_atomically(folder / "report.html", study_html(study, results, origin));
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
