// The results of a study, and how to show them: the tables that page, table.md, records and
// terminal share, charts, and the files that a study writes beside its runs.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/origin.h"
#include "experiments/declaration/study_settings.h"
#include "experiments/length_report.h"
#include "experiments/study_table.h"
#include "experiments/translation_report.h"
#include "experiments/tuning.h"
#include "report/chart.h"
#include "report/table.h"

namespace roformer {

struct StudyResults {
  std::vector<StudyRow> rows;
  std::vector<LengthRow> lengths;                 // of studies that evaluate at several lengths
  std::optional<TranslationReport> translations;  // of studies that decode a set
  std::optional<TuningResults> tuning;            // of studies with `tune:`
  std::vector<ReferenceLine> references;          // horizontal lines in the charts of the metric
};

// --- Tables ---

struct StudyTable {
  std::string name;        // in records: "results", "differences", ...
  std::string title = {};  // a line above it; "" for the first
  Table table;
  std::string caption = {};  // a few sentences below it
  bool of_missing = false;   // says what has no figures and why: no result
};

// The tables that have rows, in reading order.
std::vector<StudyTable> study_tables(const StudySettings& study, const StudyResults& results,
                                     TableUse use);

// The names of all tables of results.
inline constexpr std::array kStudyTableNames = {
    "spread",       "results",           "differences", "target_differences",
    "translations", "translation_tests", "tuning",      "lengths"};

// nullptr if there is no table of that name.
const StudyTable* find_table(const std::vector<StudyTable>& tables, std::string_view name);

// --- Charts ---

using StudyChart = std::variant<LineChart, LineChartGrid, DotChart>;

struct NamedChart {
  std::string name;  // "curves", "figures", "lengths", "bleu_by_length"
  StudyChart chart;
};

// The non-empty charts of chosen_rows(): the metric over the steps, its value at the end, the
// losses at other lengths, BLEU by length.
std::vector<NamedChart> study_charts(const StudySettings& study, const StudyResults& results);

// If a chart has more lines than a reader can tell apart, it becomes one small chart for each
// family of schemes, with the other families' lines in grey. `families` has one word for each
// series.
StudyChart by_family(LineChart chart, const std::vector<std::string>& families);

// The chart's series over the steps, with shares as percentages, by family. `families` has one word
// for each series. Empty if no series has two points.
std::optional<StudyChart> curve_chart(LineChart chart, const Column& metric,
                                      const std::vector<std::string>& families);

// The family of a scheme; "" for an unknown one.
std::string family_of(const std::string& scheme);

Drawing draw(const StudyChart& chart);

// --- Files ---

// The whole page: curves, tables and how all of it was made.
std::string study_html(const StudySettings& study, const StudyResults& results,
                       const Origin& origin);

// The tables' rows, and every figure, curve and record of each run.
std::string study_json(const StudySettings& study, const StudyResults& results,
                       const Origin& origin);

// Writes report.html and table.{md,tex,csv,json} into the folder, and a CSV file for each further
// table (lengths.csv, differences.csv). Returns the path of the report.
std::filesystem::path write_study_report(const std::filesystem::path& folder,
                                         const StudySettings& study, const StudyResults& results,
                                         const Origin& origin);

}  // namespace roformer
