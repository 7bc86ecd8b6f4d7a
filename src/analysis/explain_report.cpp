#include "analysis/explain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/report_sections.h"
#include "base/error.h"
#include "base/file.h"
#include "report/html.h"

namespace roformer {
namespace {

constexpr const char* kTitle = "What attention uses";
constexpr const char* kReport = "report.html";
constexpr std::array kFiles = {kReport,         "heads.csv",       "distances.csv",
                               "ablations.csv", "frequencies.csv", "biases.csv"};

std::string subtitle_of(const std::vector<ExplainedRun>& runs) {
  std::vector<std::string> names;
  for (const ExplainedRun& run : runs) {
    names.push_back(fmt::format("{} ({}, {})", run.name, run.scheme, run.task));
  }
  return fmt::format("{}", fmt::join(names, " and "));
}

void add_numbers(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  report.section("Numbers");
  for (const ExplainedRun& run : runs) {
    report.paragraph(fmt::format("**{}**: {}, on {}.", run.name, run.checkpoint, run.data));
  }
  report.paragraph(
      "The figures of all heads, distances, pairs and ablations, each share and difference with "
      "its "
      "standard error, are in the CSV files beside this page.");
}

std::string page_of(const std::vector<ExplainedRun>& runs, const std::string& footer) {
  HtmlReport report({.title = kTitle, .subtitle = subtitle_of(runs), .footer = footer});
  add_summary(report, runs);
  add_shares(report, runs);
  add_distances(report, runs);
  add_trained_positions(report, runs);
  add_frequencies(report, runs);
  add_ablations(report, runs);
  add_numbers(report, runs);
  return report.html();
}

}  // namespace

std::string prefix_of(const ExplainedRun& run, const std::vector<ExplainedRun>& runs) {
  return runs.size() > 1 ? run.name + ": " : "";
}

std::string title_of(const HeadExplanation& head) {
  return fmt::format("{}, head {}", head.layer.title(), head.head);
}

std::string shown_share(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string shown_share(double share, double standard_error) {
  if (!std::isfinite(standard_error)) return shown_share(share);
  return fmt::format("{:.1f} ± {:.1f} %", 100 * share, 100 * standard_error);
}

bool holds_only_explanation(const std::filesystem::path& folder) {
  const std::filesystem::path report = folder / kReport;
  std::error_code error;
  if (!std::filesystem::is_regular_file(report, error)) return false;
  if (read_file(report).find(kTitle) == std::string::npos) return false;
  return std::ranges::all_of(std::filesystem::directory_iterator(folder), [](const auto& entry) {
    return std::ranges::find(kFiles, entry.path().filename()) != kFiles.end();
  });
}

std::vector<std::string> write_explanations(const std::filesystem::path& folder,
                                            const std::vector<ExplainedRun>& runs,
                                            const std::string& footer) {
  std::vector<std::string> names;
  const auto write = [&](const char* name, const std::string& contents) {
    names.emplace_back(name);
    write_file_atomically(folder / name, contents);
  };
  write(kReport, page_of(runs, footer));
  const std::vector<std::pair<const char*, Table>> tables{
      {"heads.csv", head_table(runs)},
      {"distances.csv", distance_table(runs)},
      {"ablations.csv", ablation_table(runs)},
      {"frequencies.csv", frequency_table(runs)},
      {"biases.csv", bias_table(runs)}};
  for (const auto& [name, table] : tables) {
    if (!table.rows().empty()) write(name, to_csv(table));
  }
  return names;
}

}  // namespace roformer
