// What the scores depend on and where the attention goes.
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/distance_bins.h"
#include "analysis/explained_heads.h"
#include "analysis/report_sections.h"

namespace roformer {
namespace {

std::string with_error(double value, double standard_error, int digits) {
  if (!std::isfinite(value)) return "–";
  if (!std::isfinite(standard_error)) return fmt::format("{:.{}f}", value, digits);
  return fmt::format("{:.{}f} ± {:.{}f}", value, digits, standard_error, digits);
}

std::string in_percent(double share, double standard_error) {
  return with_error(100 * share, 100 * standard_error, 1);
}

// "encoder 3, 0", which no line break takes apart.
std::string row_title(const HeadExplanation& head) {
  std::string title;
  for (const char letter : fmt::format("{}, {}", head.layer.name(), head.head)) {
    title += letter == ' ' ? "\u00a0" : std::string(1, letter);
  }
  return title;
}

Table table_of_shares(const ExplainedRun& run) {
  Table table({{.title = "layer, head", .alignment = Column::Alignment::left},
               {.title = "content-content"},
               {.title = "content-position"},
               {.title = "position-content"},
               {.title = "position-position"},
               {.title = "interaction"},
               {.title = "positions"}});
  for_each_head(run, [&](const LayerExplanation&, const HeadExplanation& head) {
    const ScoreShares& s = head.shares;
    const ScoreShares::Errors& e = s.errors;
    table.add_row({row_title(head), in_percent(s.content_content, e.content_content),
                   in_percent(s.content_position, e.content_position),
                   in_percent(s.position_content, e.position_content),
                   in_percent(s.position_position, e.position_position),
                   in_percent(s.interaction, e.interaction),
                   in_percent(s.of_positions(), e.of_positions)});
  });
  return table;
}

Table table_of_positions(const ExplainedRun& run) {
  Table table({{.title = "layer, head", .alignment = Column::Alignment::left},
               {.title = "entropy", .unit = "nats"},
               {.title = "itself", .unit = "%"},
               {.title = "token before", .unit = "%"},
               {.title = "next token", .unit = "%"},
               {.title = "first token", .unit = "%"}});
  for_each_head(run, [&](const LayerExplanation& layer, const HeadExplanation& head) {
    const auto of = [&](const at::Tensor& x) { return x[head.head].item<double>(); };
    const AttentionMasses& m = layer.masses;
    table.add_row(
        {row_title(head), with_error(of(m.entropy), of(m.entropy_error), 2),
         in_percent(of(m.own), of(m.own_error)), in_percent(of(m.previous), of(m.previous_error)),
         in_percent(of(m.next), of(m.next_error)), in_percent(of(m.first), of(m.first_error))});
  });
  return table;
}

LineChartGrid distance_grid(const ExplainedRun& run, const std::string& prefix, bool past) {
  LineChartGrid grid{.title = fmt::format("{}Attention to {} tokens, by distance", prefix,
                                          past ? "earlier" : "later"),
                     .subtitle = "times as much as equal weights for all visible keys would give"};
  for (const LayerExplanation& layer : run.explanation.layers) {
    LineChart panel{.title = layer.layer.title(),
                    .x = {.title = "distance", .unit = "tokens", .scale = Axis::Scale::logarithmic},
                    .y = {.title = "times equal weights", .scale = Axis::Scale::logarithmic},
                    .references = {{.direction = ReferenceLine::Direction::horizontal,
                                    .value = 1,
                                    .label = "equal weights"}}};
    panel.series.resize(layer.heads.size());
    for (const DistanceBin& bin : distance_bins(layer.masses)) {
      if (bin.first == 0 || (bin.first > 0) != past) continue;
      for (std::size_t h = 0; h < bin.mass.size(); ++h) {
        panel.series[h].name = fmt::format("head {}", h);
        panel.series[h].x.push_back(
            std::sqrt(static_cast<double>(bin.first) * static_cast<double>(bin.last)));
        panel.series[h].y.push_back(bin.mass[h] / bin.uniform);
      }
    }
    if (!panel.series.front().x.empty()) grid.panels.push_back(std::move(panel));
  }
  return grid;
}

}  // namespace

void add_shares(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  report.section("What the scores depend on");
  report.paragraph(
      "The score of a query and a key varies with what both are and with where they stand. Its "
      "variance over shuffled contents and all visible pairs is split without remainder: what "
      "contents alone explain (**content-content**), where the key stands for a query's content "
      "(**content-position**), where the query stands for a key's content "
      "(**position-content**), what both positions explain whatever the contents "
      "(**position-position**), and how far the meeting of two contents depends on both positions "
      "(**interaction**, which only schemes have whose score is no sum of such terms: rotations, "
      "for instance). What is the same for all keys of a query is left out, since the softmax "
      "does not see it.");
  for (const ExplainedRun& run : runs) {
    ShareChart chart{.title = prefix_of(run, runs) + "Shares of the scores' variance",
                     .subtitle = "At the right: the standard deviation of the scores",
                     .parts = {"content-content", "content-position", "position-content",
                               "position-position", "interaction"},
                     .axis = "share of the variance"};
    for_each_head(run, [&](const LayerExplanation&, const HeadExplanation& head) {
      const ScoreShares& s = head.shares;
      chart.bars.push_back({.name = title_of(head),
                            .shares = {s.content_content, s.content_position, s.position_content,
                                       s.position_position, s.interaction},
                            .label = format_number(s.deviation, {.digits = 3}),
                            .group = head.layer.name()});
    });
    report.chart(chart);
  }
  for (const ExplainedRun& run : runs) {
    report.table(table_of_shares(run),
                 prefix_of(run, runs) +
                     "shares in % with their standard errors, by the groups of contents; "
                     "positions: all but content-content");
  }
}

void add_distances(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  report.section("Where the attention goes");
  for (const ExplainedRun& run : runs) {
    for (const bool past : {true, false}) {
      const LineChartGrid grid = distance_grid(run, prefix_of(run, runs), past);
      if (!grid.panels.empty()) report.chart(grid);
    }
  }
  for (const ExplainedRun& run : runs) {
    report.table(table_of_positions(run),
                 prefix_of(run, runs) +
                     "mean attention of the queries that see such a key, with "
                     "standard errors by the texts. The "
                     "entropy of n equal weights is ln n.");
  }
}

}  // namespace roformer
