// Horizontal bars: categories' names are words, and words are read level.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/svg.h"

namespace roformer {
namespace {

constexpr double kFontSize = 12.5;

double deviation_of(const BarSeries& series, std::size_t category) {
  if (series.deviations.empty() || !std::isfinite(series.deviations[category])) return 0;
  return series.deviations[category];
}

std::string figure(const BarChart& chart, const BarSeries& series, std::size_t category) {
  std::string text = format_number(series.values[category], chart.format);
  const double deviation = deviation_of(series, category);
  return deviation > 0 ? text + " ± " + format_number(deviation, chart.format) : text;
}

// From zero where all values lie on one side of it, as the length of a bar is what is compared.
AxisScale bar_scale(const BarChart& chart) {
  std::vector<double> values;
  for (const BarSeries& series : chart.series) {
    ROFORMER_ASSERT(series.values.size() == chart.categories.size());
    ROFORMER_ASSERT(series.deviations.empty() || series.deviations.size() == series.values.size());
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      values.push_back(series.values[i] - deviation_of(series, i));
      values.push_back(series.values[i] + deviation_of(series, i));
    }
  }
  if (chart.value.scale == Axis::Scale::linear) values.push_back(0);
  return fit_scale(chart.value, values, 0);
}

}  // namespace

std::string to_svg(const BarChart& chart, SvgUse use) {
  const AxisScale scale = bar_scale(chart);
  const bool several = chart.series.size() > 1;
  const double bar = several ? 13 : 18;
  const double group =
      bar * static_cast<double>(std::max<std::size_t>(1, chart.series.size())) + (several ? 14 : 9);
  double names = 0;
  double figures = 0;
  Legend legend{.names = {}, .sample = Legend::Sample::box, .width = chart.width - 32.0};
  for (const std::string& name : chart.categories)
    names = std::max(names, text_width(name, kFontSize));
  for (const BarSeries& series : chart.series) {
    legend.names.push_back(series.name);
    for (std::size_t i = 0; i < chart.categories.size(); ++i) {
      figures = std::max(figures, text_width(figure(chart, series, i), kFontSize));
    }
  }
  PlotArea area;
  area.top = heading_height(chart.title, chart.subtitle, false);
  area.height = group * static_cast<double>(std::max<std::size_t>(1, chart.categories.size())) + 6;
  area.left = 28 + std::min(names, 0.4 * chart.width);
  area.width = std::max(60.0, chart.width - area.left - figures - 28);

  const auto place = [&](double value) {
    return area.left + area.width * std::clamp(scale.place(value), 0.0, 1.0);
  };
  const double base = place(scale.scale == Axis::Scale::linear ? 0 : scale.low);
  std::string content = horizontal_axis(chart.value, scale, area);
  for (std::size_t category = 0; category < chart.categories.size(); ++category) {
    const double top = area.top + 3 + group * static_cast<double>(category) + (several ? 7 : 4.5);
    content += svg_text(area.left - 10, top + 0.5 * (group - (several ? 14 : 9)) + 4.2,
                        chart.categories[category], {.classes = "ink", .anchor = "end"});
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      const BarSeries& series = chart.series[i];
      const double y = top + bar * static_cast<double>(i);
      const double value = series.values[category];
      double end = base;
      if (std::isfinite(value)) {
        end = place(value);
        content += fmt::format(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"1.5\" class=\"fill c{}\">"
            "<title>{}</title></rect>\n",
            coordinate(std::min(base, end)), coordinate(y + 1), coordinate(std::abs(end - base)),
            coordinate(bar - 2), series_colour(i),
            escape_xml(chart.categories[category] + ", " + series.name + ": " +
                       figure(chart, series, category)));
        const double deviation = deviation_of(series, category);
        if (deviation > 0) {
          const double low = place(value - deviation);
          const double high = place(value + deviation);
          const double middle = y + bar / 2;
          content += svg_line(low, middle, high, middle, "whisker");
          content += svg_line(low, middle - 3, low, middle + 3, "whisker");
          content += svg_line(high, middle - 3, high, middle + 3, "whisker");
          end = std::max(end, high);
        }
      }
      content += svg_text(std::max(end, base) + 7, y + bar / 2 + 4.2,
                          figure(chart, series, category), {.classes = "tick"});
    }
  }
  content += svg_line(base, area.top, base, area.bottom(), "axis");
  double height = area.bottom() + 50;
  if (several) {
    content += legend.draw(16, height);
    height += legend.height();
  }
  return svg_document({.title = chart.title,
                       .subtitle = chart.subtitle,
                       .description = fmt::format("Bar chart of {} for {} categories.",
                                                  chart.value.heading(), chart.categories.size()),
                       .width = static_cast<double>(chart.width),
                       .height = height,
                       .use = use},
                      content);
}

}  // namespace roformer
