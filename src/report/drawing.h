// A chart as a list of marks: lines, circles, rectangles and texts, each of a named style. Charts
// draw into such a list; svg.h and pdf.h write it.
#pragma once

#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roformer {

struct Point {
  double x = 0;
  double y = 0;
  bool drawn() const { return std::isfinite(x) && std::isfinite(y); }
};

// The part of a picture where values are drawn, or another rectangle.
struct PlotArea {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;

  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

// Coordinates are pixels from the upper left corner of the picture, or of the group.
struct Mark {
  enum class Kind {
    line,        // from the first point to the second
    path,        // through the points; one that is not drawn interrupts it
    circle,      // around the first point
    rectangles,  // all of one style
    text,        // on a baseline that the first point is on
    group,       // marks that are moved to the first point and then scaled
  };

  Kind kind = Kind::group;
  std::string classes = {};  // words of kStyles (drawing.cpp), and c0 ... c7 for a series' colour
  std::vector<Point> points = {};
  std::vector<PlotArea> rectangles = {};
  double radius = 0;
  bool closed = false;  // each stretch of a path is a shape
  std::string text = {};
  std::string anchor = "start";  // of a text: start, middle, end
  bool upwards = false;          // a text that reads from below
  std::string tooltip = {};      // of a circle or rectangle
  std::string name = {};         // of a path: the series, which a page's script looks for
  std::string fill = {};         // "#0b68b0", in place of the style's colour
  std::string dashes = {};       // in place of the style's
  double scale = 1;
  std::optional<PlotArea> clip = {};  // a group shows nothing outside
  std::vector<Mark> marks = {};
};

using Marks = std::vector<Mark>;
inline Marks& operator+=(Marks& marks, Mark mark) {
  marks.push_back(std::move(mark));
  return marks;
}
inline Marks& operator+=(Marks& marks, const Marks& more) {
  marks.insert(marks.end(), more.begin(), more.end());
  return marks;
}

struct TextStyle {
  std::string_view classes;           // ink, muted, title, tick, label c0 ... c7, halo
  std::string_view anchor = "start";  // start, middle, end
};
Mark text_mark(double x, double y, std::string_view text, const TextStyle& style);
Mark line_mark(double x1, double y1, double x2, double y2, std::string_view classes);
Mark circle_mark(double x, double y, double radius, std::string_view classes,
                 std::string_view tooltip = "");

// A whole picture. It has a ground of the style "surface" where it is alone.
struct Drawing {
  std::string title;
  std::string description;      // for screen readers
  std::string attributes = {};  // further ones of the svg element, for a page's script
  double width = 0;
  double height = 0;
  Marks marks = {};
};

inline constexpr double kFontSize = 12.5;  // of all text but titles
inline constexpr double kTitleSize = 15;
inline constexpr std::size_t kSeriesColours = 8;

enum class Paint { none, surface, ink, muted, grid, axis, context, masked, series };
enum class Ground { light, dark };
// "#0b68b0"; `series` counts from 0. Not for Paint::none.
std::string colour_of(Paint paint, std::size_t series, Ground ground);

// How marks of some classes look. Later words of a list change what earlier ones say.
struct MarkStyle {
  std::optional<Paint> fill;
  std::optional<Paint> stroke;
  double stroke_width = 0;  // 0: as before
  std::string_view dashes;  // "2 3"
  double opacity = 0;       // 0: as before
  std::string_view others;  // further declarations of CSS
  std::size_t series = 0;
};
struct NamedStyle {
  std::string_view name;
  MarkStyle style;
};
const std::vector<NamedStyle>& styles();
MarkStyle style_of(const Mark& mark);

}  // namespace roformer
