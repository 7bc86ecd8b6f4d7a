// Dots with intervals: one row a name, because names are words and words are read level, on an axis
// fitted to the figures, because a difference of a hundredth is to be seen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/svg.h"

namespace roformer {
namespace {

constexpr double kRow = 24;

// The groups in their order; none where all dots are of one.
std::vector<std::string> groups_of(const DotChart& chart) {
  std::vector<std::string> groups;
  for (const Dot& dot : chart.dots) {
    const bool known = std::find(groups.begin(), groups.end(), dot.group) != groups.end();
    if (!known) groups.push_back(dot.group);
  }
  if (groups.size() < 2) groups.clear();
  return groups;
}

std::string label_of(const DotChart& chart, const Dot& dot) {
  return dot.label.empty() ? format_number(dot.value, chart.format) : dot.label;
}

AxisScale dot_scale(const DotChart& chart) {
  std::vector<double> values;
  for (const Dot& dot : chart.dots) {
    values.push_back(dot.value);
    values.insert(values.end(), dot.parts.begin(), dot.parts.end());
    for (const auto& end : {dot.low, dot.high}) {
      if (end) values.push_back(*end);
    }
  }
  for (const ReferenceLine& line : chart.references) values.push_back(line.value);
  return fit_scale(chart.value, values, 0.06);
}

class DotDrawing {
 public:
  explicit DotDrawing(const DotChart& chart)
      : chart_(chart), scale_(dot_scale(chart)), groups_(groups_of(chart)) {
    legend_ = {.names = groups_, .sample = Legend::Sample::dot, .width = chart.width - 32.0};
    double names = 0;
    double labels = 0;
    for (const Dot& dot : chart.dots) {
      names = std::max(names, text_width(dot.name, kFontSize));
      labels = std::max(labels, text_width(label_of(chart, dot), kFontSize));
    }
    area_.top = heading().height(false) + (chart.references.empty() ? 0 : 16);
    area_.height = kRow * static_cast<double>(std::max<std::size_t>(1, chart.dots.size())) + 6;
    area_.left = 28 + std::min(names, 0.4 * chart.width);
    area_.width = std::max(60.0, chart.width - area_.left - labels - 30);
  }

  Heading heading() const {
    return {.title = chart_.title,
            .subtitle = chart_.subtitle,
            .width = static_cast<double>(chart_.width)};
  }

  std::string draw(SvgUse use) const {
    std::string content = horizontal_axis(chart_.value, scale_, area_);
    for (const ReferenceLine& line : chart_.references) content += draw_reference(line);
    for (std::size_t i = 0; i < chart_.dots.size(); ++i) content += draw_dot(i);
    double height = area_.bottom() + 50;
    if (!groups_.empty()) {
      content += legend_.draw(16, height);
      height += legend_.height();
    }
    return svg_document({.title = chart_.title,
                         .subtitle = chart_.subtitle,
                         .description = fmt::format("Dots of {} for {} names.",
                                                    chart_.value.heading(), chart_.dots.size()),
                         .width = static_cast<double>(chart_.width),
                         .height = height,
                         .use = use},
                        content);
  }

 private:
  const DotChart& chart_;
  AxisScale scale_;
  std::vector<std::string> groups_;
  Legend legend_;
  PlotArea area_;

  double x_of(double value) const {
    return area_.left + area_.width * std::clamp(scale_.fraction(value), 0.0, 1.0);
  }

  int colour(const Dot& dot) const {
    const auto group = std::find(groups_.begin(), groups_.end(), dot.group);
    return group == groups_.end()
               ? series_colour(0)
               : series_colour(static_cast<std::size_t>(group - groups_.begin()));
  }

  std::string draw_reference(const ReferenceLine& line) const {
    const double x = x_of(line.value);
    const bool right_half = x > area_.left + 0.5 * area_.width;
    return svg_line(x, area_.top - 4, x, area_.bottom(), "reference") +
           svg_text(x + (right_half ? 3 : -3), area_.top - 8, line.label,
                    {.classes = "muted", .anchor = right_half ? "end" : "start"});
  }

  std::string draw_dot(std::size_t index) const {
    const Dot& dot = chart_.dots[index];
    const int c = colour(dot);
    const double y = area_.top + 3 + kRow * (static_cast<double>(index) + 0.5);
    std::string result = svg_line(area_.left, y, area_.right(), y, "grid");
    result += svg_text(area_.left - 10, y + 4.2, fitted_text(dot.name, area_.left - 14),
                       {.classes = "ink", .anchor = "end"});
    result += svg_text(area_.right() + 14, y + 4.2, label_of(chart_, dot), {.classes = "tick"});
    if (!std::isfinite(dot.value)) return result;
    if (dot.low && dot.high && std::isfinite(*dot.low) && std::isfinite(*dot.high)) {
      const std::string classes = fmt::format("whisker c{}", c);
      result += svg_line(x_of(*dot.low), y, x_of(*dot.high), y, classes);
      for (const double end : {*dot.low, *dot.high}) {
        result += svg_line(x_of(end), y - 4, x_of(end), y + 4, classes);
      }
    }
    for (const double part : dot.parts) {
      if (!std::isfinite(part)) continue;
      result += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\" class=\"line part c{}\"/>\n",
                            coordinate(x_of(part)), coordinate(y), c);
    }
    return result + fmt::format(
                        "<circle cx=\"{}\" cy=\"{}\" r=\"5\" class=\"fill c{}\">"
                        "<title>{}</title></circle>\n",
                        coordinate(x_of(dot.value)), coordinate(y), c,
                        escape_xml(dot.name + ": " + label_of(chart_, dot)));
  }
};

}  // namespace

std::string to_svg(const DotChart& chart, SvgUse use) {
  return DotDrawing(chart).draw(use);
}

}  // namespace roformer
