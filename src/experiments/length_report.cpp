#include "experiments/length_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "experiments/declaration/study_metrics.h"
#include "experiments/study_table.h"
#include "metrics/statistics.h"
#include "tasks/language/evaluation_report.h"

namespace roformer {
namespace {

std::vector<double> losses(const LengthCell& cell) {
  std::vector<double> result;
  for (const auto& [name, run] : cell.runs) result.push_back(run.loss);
  return result;
}

Series loss_over_lengths(const LengthRow& row) {
  Series line{.name = row.title};
  for (const LengthCell& cell : row.cells) {
    if (cell.runs.empty()) continue;
    line.x.push_back(static_cast<double>(cell.length));
    line.y.push_back(mean(losses(cell)));
  }
  return line;
}

// The first run's losses at the longest length that has figures.
Series loss_over_positions(const LengthRow& row) {
  const LengthCell* longest = nullptr;
  for (const LengthCell& cell : row.cells) {
    if (cell.runs.empty()) continue;
    if (longest == nullptr || cell.length > longest->length) longest = &cell;
  }
  if (longest == nullptr) return {};
  return losses_over_positions(longest->runs.begin()->second, row.title);
}

// "256 (2x)", "141 (1.1x)", "1024 (128x)": three digits of the multiple, or all before the point.
std::string length_title(std::int64_t length, std::optional<std::int64_t> training_length) {
  if (!training_length) return std::to_string(length);
  const double share = static_cast<double>(length) / static_cast<double>(*training_length);
  return share < 100 ? fmt::format("{} ({:.3g}x)", length, share)
                     : fmt::format("{} ({:.0f}x)", length, share);
}

}  // namespace

void add_test_figures(const StudySettings& study, const std::vector<LengthRow>& lengths,
                      std::vector<StudyRow>& rows) {
  if (!study.evaluations.of_test()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const LengthCell& cell : lengths[i].cells) {
      for (RunResult& result : rows[i].runs) {
        const auto evaluated = cell.runs.find(result.name);
        if (evaluated == cell.runs.end()) continue;
        const std::string name = test_loss_at(cell.length, run_named(study, result.name).settings);
        const auto add = [&](const std::string& figure, double value) {
          if (std::isfinite(value)) result.figures[figure] = value;
        };
        add(name, evaluated->second.loss);
        add(name + "_standard_error", evaluated->second.standard_error);
      }
    }
  }
}

Table length_table(const std::vector<LengthRow>& rows,
                   std::optional<std::int64_t> training_length) {
  // Losses of different vocabularies cannot be compared, so none of them is marked as lowest.
  std::set<std::string> vocabularies;
  for (const LengthRow& row : rows) vocabularies.insert(row.vocabulary);
  vocabularies.erase("");
  const auto best = vocabularies.size() > 1 ? Column::Best::none : Column::Best::lowest;
  std::vector<Column> columns{words_column("model")};
  for (const LengthCell& cell : rows.front().cells) {
    columns.push_back({.title = length_title(cell.length, training_length),
                       .key = fmt::format("loss_{}", cell.length),
                       .format = {.style = NumberFormat::Style::fixed, .digits = 3},
                       .best = best});
  }
  Table table(std::move(columns));
  for (const LengthRow& row : rows) {
    std::vector<Cell> cells{row.title};
    for (const LengthCell& cell : row.cells) {
      const Column& column = table.columns()[cells.size()];
      // A mean over some of the seeds is never the best.
      cells.push_back(row.whole ? mean_cell(losses(cell))
                                : as_words(mean_cell(losses(cell)), column));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

Table missing_lengths(const std::vector<LengthRow>& rows) {
  Table table({words_column("without loss"), words_column("lengths"), words_column("why")});
  for (const LengthRow& row : rows) {
    std::vector<std::pair<std::string, std::string>> reasons;  // reason, lengths
    for (const LengthCell& cell : row.cells) {
      if (cell.reason.empty()) continue;
      const auto shares_reason = [&](const LengthCell& other) {
        return other.reason == cell.reason;
      };
      auto same =
          std::ranges::find(reasons, cell.reason, [](const auto& one) { return one.first; });
      if (same == reasons.end()) same = reasons.insert(same, {cell.reason, ""});
      same->second += (same->second.empty() ? "" : ", ") + std::to_string(cell.length);
      if (std::ranges::all_of(row.cells, shares_reason)) same->second = "all";
    }
    for (const auto& [reason, lengths] : reasons) table.add_row({row.title, lengths, reason});
  }
  return table;
}

std::string weights_sentence(const std::vector<LengthRow>& rows) {
  std::vector<std::string> last, best;
  for (const LengthRow& row : rows) {
    if (!row.variant.empty()) continue;  // the same weights as without
    if (row.weights.contains("last")) last.push_back(row.title);
    if (row.weights.contains("best")) best.push_back(row.title);
  }
  if (best.empty()) return "Weights of the last checkpoint.";
  if (last.empty()) return "Weights of the best checkpoint.";
  return fmt::format("Weights of the last checkpoint of {}; of the best of {}.",
                     fmt::join(last, ", "), fmt::join(best, ", "));
}

std::vector<LineChart> length_charts(const std::vector<LengthRow>& rows,
                                     std::optional<std::int64_t> training_length) {
  std::vector<ReferenceLine> trained;
  if (training_length) {
    trained.push_back({.value = static_cast<double>(*training_length), .label = "trained length"});
  }
  const auto has_seeds = [](const LengthCell& cell) { return cell.runs.size() > 1; };
  std::vector<LineChart> charts;
  const auto add = [&](const std::string& whose, const auto& shown) {
    std::vector<Series> over_lengths, over_positions;
    bool several = false;
    for (const LengthRow& row : rows) {
      if (!shown(row)) continue;
      several |= std::ranges::any_of(row.cells, has_seeds);
      over_lengths.push_back(loss_over_lengths(row));
      over_positions.push_back(loss_over_positions(row));
    }
    for (auto* const lines : {&over_lengths, &over_positions}) {
      std::erase_if(*lines, [](const Series& line) { return line.x.empty(); });
    }
    if (over_lengths.empty()) return;
    LineChart& by_length = charts.emplace_back(
        LineChart{.title = "Loss against length: " + whose,
                  .subtitle = several ? "Means over the seeds; same held-out text for all"
                                      : "Same held-out text for all",
                  .x = {.title = "length", .unit = "tokens", .scale = Axis::Scale::logarithmic},
                  .y = {.title = "loss", .unit = "nats"},
                  .series = std::move(over_lengths),
                  .references = trained});
    for (const LengthCell& cell : rows.front().cells) {
      // Labels of neighbouring lengths would overlap.
      const auto length = static_cast<double>(cell.length);
      std::vector<double>& ticks = by_length.x.ticks;
      if (ticks.empty() || length >= 1.3 * ticks.back()) ticks.push_back(length);
    }
    charts.push_back({.title = "Loss at each position of the longest text: " + whose,
                      .subtitle = several ? "Means over neighbouring positions, of the first seed "
                                            "of each row"
                                          : "Means over neighbouring positions",
                      .x = {.title = "position"},
                      .y = {.title = "loss", .unit = "nats"},
                      .series = std::move(over_positions),
                      .references = trained,
                      .markers = LineChart::Markers::never});
  };
  add("as trained", [](const LengthRow& row) { return row.variant.empty(); });
  std::vector<std::string> varied;
  for (const LengthRow& row : rows) {
    if (!row.variant.empty()) add_once(varied, row.scheme);
  }
  for (const std::string& scheme : varied) {
    add(scheme + " with options of inference",
        [&](const LengthRow& row) { return row.scheme == scheme; });
  }
  return charts;
}

}  // namespace roformer
