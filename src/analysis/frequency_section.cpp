// What the pairs of rotated features give to the scores.
#include <ATen/TensorOperators.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "analysis/explained_heads.h"
#include "analysis/report_sections.h"

namespace roformer {
namespace {

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

}  // namespace

void add_frequencies(HtmlReport& report, const std::vector<ExplainedRun>& runs) {
  const bool any = std::any_of(runs.begin(), runs.end(), [](const ExplainedRun& run) {
    return std::any_of(run.explanation.layers.begin(), run.explanation.layers.end(),
                       [](const LayerExplanation& layer) { return layer.frequencies; });
  });
  if (!any) return;
  report.section("Use of rotary frequencies");
  report.paragraph(
      "Each pair of features is rotated by an angle of its own: the first pairs fast, the last "
      "ones slowly. A pair's part of the score is the product of query and key in it; its share "
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

}  // namespace roformer
