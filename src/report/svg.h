// What all charts share: text that is safe in XML, the width of text, the frame of a picture with
// its title and description, axes and legends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/chart.h"
#include "report/scale.h"

namespace roformer {

// For element content and attribute values; control characters, which XML forbids, are left out.
std::string escape_xml(std::string_view text);

// A coordinate: at most two digits after the point.
std::string coordinate(double value);

inline constexpr double kFontSize = 12.5;  // of all text but titles

// An estimate, a little generous, of the width of sans-serif text.
double text_width(std::string_view text, double font_size);
// The text as far as it fits into a width: its middle gives way, since names that begin alike
// differ at their end.
std::string fitted_text(std::string_view text, double width, double font_size = kFontSize);

// Colours repeat after this many series, dashes after fewer, the pair of both much later.
int series_colour(std::size_t index);
std::string_view series_dashes(std::size_t index);  // for stroke-dasharray; empty for solid

struct TextStyle {
  std::string_view classes;           // ink, muted, title, tick, label c0 ... c7, halo
  std::string_view anchor = "start";  // start, middle, end
};
std::string svg_text(double x, double y, std::string_view text, const TextStyle& style);
std::string svg_line(double x1, double y1, double x2, double y2, std::string_view classes);

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

  // Taken up at the top, with a line for the vertical axis' title where there is one.
  double height(bool vertical_axis_title) const;
  std::string draw() const;
};

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

// Grid, ticks, labels and the title of a horizontal axis below the area, or of a vertical one left
// of it (its title above).
std::string horizontal_axis(const Axis& axis, const AxisScale& scale, const PlotArea& area);
std::string vertical_axis(const Axis& axis, const AxisScale& scale, const PlotArea& area,
                          double title_baseline);
double widest_tick_label(const std::vector<Tick>& ticks);
int horizontal_tick_target(double width);
int vertical_tick_target(double height);

// Names in rows that fit `width`, each behind a sample of its line (or of its dot).
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

}  // namespace roformer
