#include "experiments/length_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "metrics/statistics.h"
#include "tasks/language/evaluation_report.h"

namespace roformer {
namespace {

std::vector<double> losses(const LengthCell& cell) {
  std::vector<double> result;
  for (const auto& [name, run] : cell.runs) result.push_back(run.loss);
  return result;
}

Cell loss_cell(const LengthCell& cell) {
  const std::vector<double> values = losses(cell);
  if (values.empty()) return std::monostate{};
  if (values.size() == 1) return values.front();
  return MeanAndDeviation{.mean = mean(values),
                          .deviation = sample_standard_deviation(values),
                          .count = static_cast<std::int64_t>(values.size())};
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

// Of the first run at the longest length that has figures.
Series loss_over_positions(const LengthRow& row) {
  const LengthCell* longest = nullptr;
  for (const LengthCell& cell : row.cells) {
    if (cell.runs.empty()) continue;
    if (longest == nullptr || cell.length > longest->length) longest = &cell;
  }
  if (longest == nullptr) return {};
  return losses_over_positions(longest->runs.begin()->second, row.title);
}

// "256 (2x)", "141 (1.1x)", "1024 (128x)": three digits of the share, or all before the point.
std::string length_title(std::int64_t length, std::optional<std::int64_t> training_length) {
  if (!training_length) return std::to_string(length);
  const double share = static_cast<double>(length) / static_cast<double>(*training_length);
  return share < 100 ? fmt::format("{} ({:.3g}x)", length, share)
                     : fmt::format("{} ({:.0f}x)", length, share);
}

void add_lines(LineChart& chart, const std::vector<LengthRow>& rows,
               const std::function<bool(const LengthRow&)>& shown,
               const std::function<Series(const LengthRow&)>& line_of) {
  for (const LengthRow& row : rows) {
    if (!shown(row)) continue;
    Series line = line_of(row);
    if (!line.x.empty()) chart.series.push_back(std::move(line));
  }
}

}  // namespace

Table length_table(const std::vector<LengthRow>& rows,
                   std::optional<std::int64_t> training_length) {
  // Losses of several vocabularies are losses of different things: none of them is the lowest.
  std::set<std::string> vocabularies;
  for (const LengthRow& row : rows) {
    if (!row.vocabulary.empty()) vocabularies.insert(row.vocabulary);
  }
  const auto best = vocabularies.size() > 1 ? Column::Best::none : Column::Best::lowest;
  std::vector<Column> columns{{.title = "model", .alignment = Column::Alignment::left}};
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
      // A mean of those that came through is never the best.
      cells.push_back(row.whole ? loss_cell(cell) : as_words(loss_cell(cell), column));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

Table missing_lengths(const std::vector<LengthRow>& rows) {
  Table table({{.title = "without loss", .alignment = Column::Alignment::left},
               {.title = "lengths", .alignment = Column::Alignment::left},
               {.title = "why", .alignment = Column::Alignment::left}});
  for (const LengthRow& row : rows) {
    std::vector<std::pair<std::string, std::string>> reasons;  // reason, lengths
    for (const LengthCell& cell : row.cells) {
      if (cell.reason.empty()) continue;
      auto same = std::find_if(reasons.begin(), reasons.end(),
                               [&](const auto& other) { return other.first == cell.reason; });
      if (same == reasons.end()) same = reasons.insert(reasons.end(), {cell.reason, ""});
      same->second += (same->second.empty() ? "" : ", ") + std::to_string(cell.length);
      if (std::all_of(row.cells.begin(), row.cells.end(),
                      [&](const LengthCell& other) { return other.reason == cell.reason; })) {
        same->second = "all";
      }
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
  std::vector<LineChart> charts;
  const auto add = [&](const std::string& whose,
                       const std::function<bool(const LengthRow&)>& shown) {
    std::vector<ReferenceLine> trained;
    if (training_length) {
      trained.push_back(
          {.value = static_cast<double>(*training_length), .label = "trained length"});
    }
    const bool several = std::ranges::any_of(rows, [&](const LengthRow& row) {
      return shown(row) && std::ranges::any_of(row.cells, [](const LengthCell& cell) {
               return cell.runs.size() > 1;
             });
    });
    LineChart by_length{
        .title = "Loss against length: " + whose,
        .subtitle = several ? "Means over the seeds; same held-out text for all"
                            : "Same held-out text for all",
        .x = {.title = "length", .unit = "tokens", .scale = Axis::Scale::logarithmic},
        .y = {.title = "loss", .unit = "nats"},
        .references = trained};
    for (const LengthCell& cell : rows.front().cells) {
      // Labels of lengths that are near each other would lie on each other.
      const auto length = static_cast<double>(cell.length);
      const std::vector<double>& ticks = by_length.x.ticks;
      if (ticks.empty() || length >= 1.3 * ticks.back()) by_length.x.ticks.push_back(length);
    }
    add_lines(by_length, rows, shown, loss_over_lengths);
    LineChart by_position{.title = "Loss at each position of the longest text: " + whose,
                          .subtitle = several ? "Means over neighbouring positions, of the first "
                                                "seed of each row"
                                              : "Means over neighbouring positions",
                          .x = {.title = "position"},
                          .y = {.title = "loss", .unit = "nats"},
                          .references = trained,
                          .markers = LineChart::Markers::never};
    add_lines(by_position, rows, shown, loss_over_positions);
    if (by_length.series.empty()) return;
    charts.push_back(std::move(by_length));
    charts.push_back(std::move(by_position));
  };
  add("as trained", [](const LengthRow& row) { return row.variant.empty(); });
  std::vector<std::string> varied;
  for (const LengthRow& row : rows) {
    const bool known = std::find(varied.begin(), varied.end(), row.scheme) != varied.end();
    if (!row.variant.empty() && !known) varied.push_back(row.scheme);
  }
  for (const std::string& scheme : varied) {
    add(scheme + " with options of inference",
        [&](const LengthRow& row) { return row.scheme == scheme; });
  }
  return charts;
}

}  // namespace roformer
