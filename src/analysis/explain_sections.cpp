#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/attention_record.h"
#include "analysis/explain_report.h"

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
  std::vector<Column> columns{{.title = "layer, head", .alignment = Column::Alignment::left}};
  for (const SharePart& part : kShareParts) columns.push_back({.title = part.title});
  columns.push_back({.title = "positions"});
  Table table(columns);
  for_each_head(run, [&](const LayerExplanation&, const HeadExplanation& head) {
    const ScoreShares& s = head.shares;
    std::vector<Cell> row{row_title(head)};
    for (const SharePart& part : kShareParts) {
      row.push_back(in_percent(s.*part.share, s.errors.*part.error));
    }
    row.push_back(in_percent(s.of_positions(), s.errors.of_positions));
    table.add_row(std::move(row));
  });
  return table;
}

Table table_of_positions(const ExplainedRun& run) {
  std::vector<Column> columns{{.title = "layer, head", .alignment = Column::Alignment::left}};
  for (const MassFigure& mass : kMassFigures) columns.push_back({.title = mass.title, .unit = "%"});
  columns[1].unit = "nats";  // the entropy
  Table table(columns);
  for_each_head(run, [&](const LayerExplanation& layer, const HeadExplanation& head) {
    std::vector<Cell> row{row_title(head)};
    for (const MassFigure& mass : kMassFigures) {
      const double mean = (layer.masses.*mass.mean)[head.head].item<double>();
      const double error = (layer.masses.*mass.error)[head.head].item<double>();
      row.push_back(row.size() == 1 ? with_error(mean, error, 2) : in_percent(mean, error));
    }
    table.add_row(std::move(row));
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

LineChart by_wavelength(const ExplainedRun& run, const std::string& prefix) {
  LineChart chart{.title = prefix + "Share of the score's variance by wavelength",
                  .subtitle = "mean of each layer's heads",
                  .x = {.title = "wavelength", .unit = "tokens", .scale = Axis::Scale::logarithmic},
                  .y = {.title = "share"},
                  .references = {{.value = static_cast<double>(run.explanation.length),
                                  .label = "length of the longest text"}}};
  for (const LayerExplanation& layer : run.explanation.layers) {
    if (!layer.frequencies) continue;
    const at::Tensor mean = layer.frequencies->variance_share.mean(0).contiguous();
    Series series{.name = layer.layer.title()};
    for (std::size_t p = 0; p < layer.frequencies->wavelengths.size(); ++p) {
      const double wavelength = layer.frequencies->wavelengths[p];
      if (!std::isfinite(wavelength)) continue;
      series.x.push_back(wavelength);
      series.y.push_back(mean.const_data_ptr<double>()[p]);
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

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

void add_shares(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  report.section("What the scores depend on");
  report.paragraph(
      "The score of a query and a key depends on the contents and on the positions of both. Its "
      "variance over shuffled contents and all visible pairs is the sum of five parts: both "
      "contents (**content-content**), the query's content and the key's position "
      "(**content-position**), the query's position and the key's content "
      "(**position-content**), both positions (**position-position**), and the effect of the "
      "positions on how two contents match (**interaction**; only schemes whose score is not a "
      "sum of the other four, such as rotations, have it). Terms that are equal for all keys of a "
      "query are left out, since the softmax ignores them.");
  for (const ExplainedRun& run : runs) {
    ShareChart chart{.title = prefix_of(run, runs) + "Shares of the scores' variance",
                     .subtitle = "At the right: the standard deviation of the scores",
                     .axis = "share of the variance"};
    for (const SharePart& part : kShareParts) chart.parts.push_back(part.title);
    for_each_head(run, [&](const LayerExplanation&, const HeadExplanation& head) {
      ShareBar bar{.name = title_of(head),
                   .label = format_number(head.shares.deviation, {.digits = 3}),
                   .group = head.layer.name()};
      for (const SharePart& part : kShareParts) bar.shares.push_back(head.shares.*part.share);
      chart.bars.push_back(std::move(bar));
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

void add_frequencies(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  const auto rotates = [](const ExplainedRun& run) {
    return std::ranges::any_of(run.explanation.layers, [](const LayerExplanation& layer) {
      return layer.frequencies.has_value();
    });
  };
  if (std::ranges::none_of(runs, rotates)) return;
  report.section("Use of rotary frequencies");
  report.paragraph(
      "Each pair of features has its angle of rotation per position: the first pairs turn fast, "
      "the last ones slowly. A pair's part of the score is the product of query and key in it; its "
      "share "
      "of the score's variance over the visible keys is the covariance of both, so that the "
      "shares of a head sum to 1 and a pair that works against the others has a negative one.");
  for (const ExplainedRun& run : runs) {
    HeatMapGrid shares{.title = prefix_of(run, runs) + "Share of the score's variance",
                       .subtitle = "rows are heads, columns pairs of features"};
    HeatMapGrid norms{.title = prefix_of(run, runs) + "Norm of the query times norm of the key"};
    for (const LayerExplanation& layer : run.explanation.layers) {
      if (!layer.frequencies) continue;
      const FrequencyUse& use = *layer.frequencies;
      const auto pairs = static_cast<std::int64_t>(use.wavelengths.size());
      const auto map = [&](const at::Tensor& values, HeatMap::Colours colours) {
        HeatMap result{.title = layer.layer.title(),
                       .rows = {.title = "head"},
                       .columns = {.title = "pair"},
                       .colours = colours,
                       .size = 250};
        for (std::int64_t h = 0; h < values.size(0); ++h) {
          const at::Tensor row = values[h].contiguous();
          result.values.emplace_back(row.const_data_ptr<double>(),
                                     row.const_data_ptr<double>() + pairs);
        }
        return result;
      };
      shares.maps.push_back(
          map(use.variance_share.narrow(1, 0, pairs), HeatMap::Colours::diverging));
      norms.maps.push_back(map(use.query_norm * use.key_norm, HeatMap::Colours::sequential));
    }
    if (shares.maps.empty()) continue;
    report.chart(shares);
    report.chart(norms);
    report.chart(by_wavelength(run, prefix_of(run, runs)));
  }
}

void add_trained_positions(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  if (std::ranges::all_of(runs, [](const ExplainedRun& run) {
        return run.positions.biases.empty() && run.positions.parameters.empty();
      })) {
    return;
  }
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
