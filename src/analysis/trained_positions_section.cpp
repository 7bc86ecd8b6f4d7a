// Biases and parameters of the positions, as training left them.
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>

#include "analysis/report_sections.h"

namespace roformer {
namespace {

constexpr std::int64_t kBiasLength = 48;     // of maps: enough to see, few enough to draw
constexpr std::size_t kMostParameters = 24;  // drawn of a run

void draw_bias(HtmlReport& report, const std::string& prefix, const TrainedPositions::Bias& bias) {
  const std::string title = fmt::format("{}Bias of {}", prefix, bias.title);
  if (!bias.by_distance) {
    return report.chart(
        bias_maps({.title = title,
                   .bias = bias.pairs.narrow(1, 0, std::min(kBiasLength, bias.pairs.size(1)))
                               .narrow(2, 0, std::min(kBiasLength, bias.pairs.size(2)))}));
  }
  LineChart chart{.title = title,
                  .x = {.title = "distance query - key", .unit = "tokens"},
                  .y = {.title = "bias"},
                  .markers = LineChart::Markers::never};
  for (std::size_t h = 0; h < bias.by_distance->values.size(); ++h) {
    chart.series.push_back({.name = fmt::format("head {}", h),
                            .x = bias.by_distance->distances,
                            .y = bias.by_distance->values[h]});
  }
  report.chart(chart);
}

}  // namespace

void add_trained_positions(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  const bool any = std::any_of(runs.begin(), runs.end(), [](const ExplainedRun& run) {
    return !run.positions.biases.empty() || !run.positions.parameters.empty();
  });
  if (!any) return;
  report.section("Positions as trained");
  for (const ExplainedRun& run : runs) {
    for (const TrainedPositions::Bias& bias : run.positions.biases) {
      draw_bias(report, prefix_of(run, runs), bias);
    }
    HeatMapGrid grid{.title = prefix_of(run, runs) + "Parameters of " + run.scheme};
    for (const auto& [name, values] : run.positions.parameters) {
      if (grid.maps.size() == kMostParameters) {
        grid.subtitle =
            fmt::format("the first {} of {}", kMostParameters, run.positions.parameters.size());
        break;
      }
      if (auto map = parameter_map(name, values)) grid.maps.push_back(std::move(*map));
    }
    if (!grid.maps.empty()) report.chart(grid);
  }
}

}  // namespace roformer
