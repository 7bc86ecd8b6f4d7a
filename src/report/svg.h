// What all charts share: text that is safe in XML, the width of text, scales, the frame of a
// picture with its title and description, axes and legends.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/chart.h"

namespace roformer {

// For element content and attribute values; control characters, which XML forbids, are left out.
std::string escape_xml(std::string_view text);

// A coordinate: at most two digits after the point.
std::string coordinate(double value);

inline constexpr double kFontSize = 12.5;  // of all text but titles

// An estimate, a little generous, of the width of sans-serif text.
double text_width(std::string_view text, double font_size);
// The text as far as it fits into a width. Its middle is cut, since names that begin alike differ
// at their end.
std::string fitted_text(std::string_view text, double width, double font_size = kFontSize);

// Colours repeat after this many series, dashes after fewer, the pair of both much later.
int series_colour(std::size_t index);
std::string_view series_dashes(std::size_t index);  // for stroke-dasharray; empty for solid

// Maps values of [low, high] to [0, 1], linearly or by their logarithm.
struct AxisScale {
  double low = 0;
  double high = 1;
  Axis::Scale scale = Axis::Scale::linear;
  std::vector<double> ticks = {};  // those the axis asks for

  // Of the axis; NaN for a value that is not on it (not positive on a logarithmic axis).
  double fraction(double value) const;
};

// The range of an axis: of the finite values, or what the axis says. `padding` is the share of the
// range added beyond the data where the axis leaves it open. Never empty, whatever the values.
AxisScale fit_scale(const Axis& axis, const std::vector<double>& values, double padding);

struct Tick {
  double value = 0;
  std::string label;
};

// About `target` ticks at multiples of 1, 2 or 5 times a power of ten, all within the range; on a
// logarithmic axis at powers of ten, or at 1, 2 and 5 times those where the range is short. An axis
// that asks for certain ticks gets those instead.
std::vector<Tick> make_ticks(const AxisScale& scale, int target);

struct TextStyle {
  std::string_view classes;           // ink, muted, title, tick, label c0 ... c7, halo
  std::string_view anchor = "start";  // start, middle, end
};
std::string svg_text(double x, double y, std::string_view text, const TextStyle& style);
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view classes);
// A circle with its end tag, or with a tooltip.
std::string svg_circle(double x, double y, double radius, std::string_view classes,
                       std::string_view tooltip = "");

// The part of a picture where values are drawn.
struct PlotArea {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

// A picture's title and subtitle, broken into lines that fit its width.
struct Heading {
  std::string_view title;
  std::string_view subtitle;
  double width = 0;

  // The space at the top, with a line for the vertical axis' title where there is one.
  double height(bool vertical_axis_title) const;
  std::string draw() const;
};

template <class Chart>
Heading heading_of(const Chart& chart) {
  return {
      .title = chart.title, .subtitle = chart.subtitle, .width = static_cast<double>(chart.width)};
}

struct SvgFrame {
  std::string title;
  std::string subtitle;
  std::string description;  // for screen readers
  std::string attributes;   // further ones of the svg element
  double width = 0;
  double height = 0;
  SvgUse use = SvgUse::standalone;
};
// The whole picture around its content, which begins below the heading.
std::string svg_document(const SvgFrame& frame, const std::string& content);
template <class Chart>
SvgFrame frame_of(const Chart& chart, std::string description, double width, double height,
                  SvgUse use) {
  return {.title = chart.title,
          .subtitle = chart.subtitle,
          .description = std::move(description),
          .attributes = {},
          .width = width,
          .height = height,
          .use = use};
}

// Grid, ticks, labels and the title of a horizontal axis below the area, or of a vertical one left
// of it (its title above).
std::string horizontal_axis(const Axis& axis, const AxisScale& scale, const PlotArea& area);
std::string vertical_axis(const Axis& axis, const AxisScale& scale, const PlotArea& area,
                          double title_baseline);
double widest_tick_label(const std::vector<Tick>& ticks);
int horizontal_tick_target(double width);
int vertical_tick_target(double height);

// Names in rows that fit `width`, each after a sample of its line (or of its dot).
struct Legend {
  enum class Sample { line, dot };

  std::vector<std::string> names;
  Sample sample = Sample::line;
  double width = 0;

  double height() const;
  std::string draw(double left, double top) const;

 private:
  double entry_width() const;
  std::size_t entries_per_row() const;
};

// Geometry of line charts in pixels: paths with gaps, thinning of long curves, and labels that keep
// their distance.
struct Point {
  double x = 0;
  double y = 0;
  bool drawn() const { return std::isfinite(x) && std::isfinite(y); }
};

// The d attribute of a path; a point that is not drawn interrupts the line.
std::string line_path(const std::vector<Point>& points);

// Keeps the first, least, greatest and last point of each column of pixels: the picture is the
// same, and a long run's chart stays small.
std::vector<Point> thinned(const std::vector<Point>& points);

// Moves sorted heights apart to `gap`, as little as possible and all within [first, last]. Nothing
// when they can't all fit.
struct LabelSpace {
  double gap = 15;
  double first = 0;
  double last = 0;
};
std::vector<double> spread_labels(const std::vector<double>& sorted, const LabelSpace& space);

}  // namespace roformer
