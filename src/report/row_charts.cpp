// Charts of one row a name, because names are words and words are read level: dots with intervals,
// on an axis fitted to the figures so that a difference of a hundredth is visible, and bars cut
// into shares.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/chart_parts.h"

namespace roformer {
namespace {

// Sets the area's left edge and its width: names are on the left, labels and `margin` on the right.
void fit_between(PlotArea& area, const std::vector<std::string>& names,
                 const std::vector<std::string>& labels, double width, double margin) {
  const auto widest = [](const std::vector<std::string>& texts) {
    double result = 0;
    for (const std::string& text : texts) result = std::max(result, text_width(text, kFontSize));
    return result;
  };
  area.left = 28 + std::min(widest(names), 0.4 * width);
  area.width = std::max(60.0, width - area.left - widest(labels) - margin);
}

Mark name_of_row(const PlotArea& area, double middle, const std::string& name) {
  return text_mark(area.left - 10, middle + 4.2, fitted_text(name, area.left - 14),
                   {.classes = "ink", .anchor = "end"});
}

constexpr double kRow = 24;

// The groups in their order; none where all dots are of one.
std::vector<std::string> groups_of(const DotChart& chart) {
  std::vector<std::string> groups;
  for (const Dot& dot : chart.dots) {
    const bool known = std::ranges::find(groups, dot.group) != groups.end();
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
    std::vector<std::string> names, labels;
    for (const Dot& dot : chart.dots) {
      names.push_back(dot.name);
      labels.push_back(label_of(chart, dot));
    }
    area_.top = heading_of(chart).height(false) + (chart.references.empty() ? 0 : 16);
    area_.height = kRow * static_cast<double>(std::max<std::size_t>(1, chart.dots.size())) + 6;
    fit_between(area_, names, labels, chart.width, 30);
  }

  Drawing draw() const {
    Marks content = horizontal_axis(chart_.value, scale_, area_);
    for (const ReferenceLine& line : chart_.references) {
      content += vertical_reference(line, x_of(line.value), 0.5, area_);
    }
    for (std::size_t i = 0; i < chart_.dots.size(); ++i) content += draw_dot(i);
    double height = area_.bottom() + 50;
    if (!groups_.empty()) {
      content += legend_.draw(16, height);
      height += legend_.height();
    }
    const std::string description =
        fmt::format("Dots of {} for {} names.", chart_.value.heading(), chart_.dots.size());
    return drawing_of(chart_, description, chart_.width, height, content);
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
    const auto group = std::ranges::find(groups_, dot.group);
    return group == groups_.end()
               ? series_colour(0)
               : series_colour(static_cast<std::size_t>(group - groups_.begin()));
  }

  Marks draw_dot(std::size_t index) const {
    const Dot& dot = chart_.dots[index];
    const int c = colour(dot);
    const double y = area_.top + 3 + kRow * (static_cast<double>(index) + 0.5);
    Marks result{
        line_mark(area_.left, y, area_.right(), y, "grid"), name_of_row(area_, y, dot.name),
        text_mark(area_.right() + 14, y + 4.2, label_of(chart_, dot), {.classes = "tick"})};
    if (!std::isfinite(dot.value)) return result;
    if (dot.low && dot.high && std::isfinite(*dot.low) && std::isfinite(*dot.high)) {
      const std::string classes = fmt::format("whisker c{}", c);
      result += line_mark(x_of(*dot.low), y, x_of(*dot.high), y, classes);
      for (const double end : {*dot.low, *dot.high}) {
        result += line_mark(x_of(end), y - 4, x_of(end), y + 4, classes);
      }
    }
    for (const double part : dot.parts) {
      if (!std::isfinite(part)) continue;
      result += circle_mark(x_of(part), y, 3, fmt::format("line part c{}", c));
    }
    return result += circle_mark(x_of(dot.value), y, 5, fmt::format("fill c{}", c),
                                 dot.name + ": " + label_of(chart_, dot));
  }
};

constexpr double kBarRow = 22;
constexpr double kBar = 15;  // height
constexpr double kGroupGap = 8;

class ShareDrawing {
 public:
  explicit ShareDrawing(const ShareChart& chart) : chart_(chart) {
    legend_ = {.names = chart.parts, .sample = Legend::Sample::dot, .width = chart.width - 32.0};
    std::vector<std::string> names, labels;
    for (const ShareBar& bar : chart.bars) {
      ROFORMER_ASSERT(bar.shares.size() == chart.parts.size());
      names.push_back(bar.name);
      labels.push_back(bar.label);
    }
    area_.top = heading_of(chart).height(false) + legend_.height();
    fit_between(area_, names, labels, chart.width, 34);
    double y = area_.top + 3;
    for (std::size_t i = 0; i < chart.bars.size(); ++i) {
      if (i > 0 && chart.bars[i].group != chart.bars[i - 1].group) y += kGroupGap;
      tops_.push_back(y);
      y += kBarRow;
    }
    area_.height = y - area_.top + 3;
  }

  Drawing draw() const {
    const Axis axis{.title = chart_.axis, .unit = "%"};
    Marks content = legend_.draw(16, heading_of(chart_).height(false) - 6);
    content += horizontal_axis(axis, {.low = 0, .high = 100}, area_);
    for (std::size_t i = 0; i < chart_.bars.size(); ++i) content += draw_bar(i);
    const std::string description =
        fmt::format("Shares of {} parts in {} bars.", chart_.parts.size(), chart_.bars.size());
    return drawing_of(chart_, description, chart_.width, area_.bottom() + 50, content);
  }

 private:
  const ShareChart& chart_;
  Legend legend_;
  PlotArea area_;
  std::vector<double> tops_;

  Marks draw_bar(std::size_t index) const {
    const ShareBar& bar = chart_.bars[index];
    const double y = tops_[index], middle = y + kBar / 2;
    Marks result{name_of_row(area_, middle, bar.name),
                 text_mark(area_.right() + 12, middle + 4.2, bar.label, {.classes = "tick"})};
    double x = area_.left;
    for (std::size_t part = 0; part < bar.shares.size(); ++part) {
      const double share = bar.shares[part];
      if (!std::isfinite(share) || share <= 0) continue;
      const double width = area_.width * share;
      result += Mark{
          .kind = Mark::Kind::rectangles,
          .classes = fmt::format("fill c{}", series_colour(part)),
          .rectangles = {{.left = x, .top = y, .width = width, .height = kBar}},
          .tooltip = fmt::format("{}, {}: {:.1f} %", bar.name, chart_.parts[part], 100 * share)};
      x += width;
    }
    return result;
  }
};

}  // namespace

Drawing draw(const DotChart& chart) {
  return DotDrawing(chart).draw();
}

Drawing draw(const ShareChart& chart) {
  return ShareDrawing(chart).draw();
}

}  // namespace roformer
