// The common part of all charts: the width of text, scales, the title of a picture, axes and
// legends.
#pragma once

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/chart.h"
#include "report/drawing.h"

namespace roformer {

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

  // Where the value is on the axis, from 0 to 1; NaN where it cannot be (not positive on a
  // logarithmic axis).
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

// A picture's title and subtitle, broken into lines that fit its width.
struct Heading {
  std::string_view title;
  std::string_view subtitle;
  double width = 0;

  // The space at the top, with a line for the vertical axis' title where there is one.
  double height(bool vertical_axis_title) const;
  Marks draw() const;
};

template <class Chart>
Heading heading_of(const Chart& chart) {
  return {
      .title = chart.title, .subtitle = chart.subtitle, .width = static_cast<double>(chart.width)};
}

// The whole picture: the heading and, below it, the content.
template <class Chart>
Drawing drawing_of(const Chart& chart, std::string description, double width, double height,
                   const Marks& content) {
  Drawing drawing{.title = chart.title,
                  .description = std::move(description),
                  .width = width,
                  .height = height};
  drawing.marks = Heading{.title = chart.title, .subtitle = chart.subtitle, .width = width}.draw();
  drawing.marks += content;
  return drawing;
}

// Grid, ticks, labels and the title of a horizontal axis below the area, or of a vertical one left
// of it (its title above).
Marks horizontal_axis(const Axis& axis, const AxisScale& scale, const PlotArea& area);
Marks vertical_axis(const Axis& axis, const AxisScale& scale, const PlotArea& area,
                    double title_baseline);
// A vertical line with its label above the area, on the side that has more room.
Marks vertical_reference(const ReferenceLine& line, double x, double turn, const PlotArea& area);
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
  Marks draw(double left, double top) const;

 private:
  double entry_width() const;
  std::size_t entries_per_row() const;
};

// Geometry of line charts in pixels: thinning of long curves, and labels that keep their distance.

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
