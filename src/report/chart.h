// Charts as SVG and PDF: lines with bands, dots with intervals, heat maps. They are readable in
// light and dark, by colour-blind readers (palette and dashes), by screen readers (title and
// description), and without any file or script beside them. No C++ library draws such charts, so
// the drawing is our own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/drawing.h"
#include "report/number.h"

namespace roformer {

struct Axis {
  enum class Scale { linear, logarithmic };

  std::string title;
  std::string unit;  // shown after the title
  Scale scale = Scale::linear;
  std::optional<double> minimum;  // of the data where not given
  std::optional<double> maximum;
  std::vector<double> ticks = {};       // where to put labels, instead of at round values
  std::vector<std::string> names = {};  // of a heat map's rows or columns, instead of numbers

  std::string heading() const { return unit.empty() ? title : title + " (" + unit + ")"; }
};

// Points joined by a line in their order; one that is not finite, or not positive on a logarithmic
// axis, leaves a gap. `low` and `high`, if given, are drawn as a band (mean - and + deviation).
struct Series {
  std::string name;
  std::vector<double> x;     // [N]
  std::vector<double> y;     // [N]
  std::vector<double> low;   // [N] or empty
  std::vector<double> high;  // [N] or empty
};

// A dotted line over the whole plot, at a length that was trained on or a value of a paper.
struct ReferenceLine {
  enum class Direction { horizontal, vertical };

  Direction direction = Direction::vertical;
  double value = 0;
  std::string label;
};

struct LineChart {
  enum class Markers { automatic, always, never };  // automatic: series of at most 12 points

  std::string title;
  std::string subtitle;
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<Series> context = {};  // thin grey lines in the background, which set the axes, too
  std::vector<ReferenceLine> references;
  Markers markers = Markers::automatic;
  int width = 816;  // pixels; the default fills a report's column
  int height = 420;
};

// Several line charts side by side under one title: small multiples, where one chart would have
// more lines than can be told apart. The panels' own widths and heights are ignored.
struct LineChartGrid {
  std::string title;
  std::string subtitle;
  std::vector<LineChart> panels;
  std::size_t columns = 2;
  int width = 816;
  int panel_height = 300;
};

// A figure for each name, on an axis that is fitted to the figures, so that 4.755 and 4.756 differ.
struct Dot {
  std::string name;
  double value = 0;           // not finite: no dot, "–"
  std::string label;          // at the right edge; the value in the chart's format if empty
  std::optional<double> low;  // an interval around it, drawn as a whisker
  std::optional<double> high;
  std::vector<double> parts;  // the values that it is the mean of (seeds), as small rings
  std::string group;          // dots of one group share a colour
};

struct DotChart {
  std::string title;
  std::string subtitle;
  std::vector<Dot> dots;  // from the top
  Axis value;
  NumberFormat format;
  std::vector<ReferenceLine> references;  // vertical, whatever they say
  int width = 816;
};

// A whole cut into shares, part by part; shares that are not finite are left out.
struct ShareBar {
  std::string name;
  std::vector<double> shares;  // of 1, one a part
  std::string label;           // at the right edge
  std::string group;           // a small gap parts bars of different groups
};

// Stacked bars of equal length, one a name.
struct ShareChart {
  std::string title;
  std::string subtitle;
  std::vector<std::string> parts;
  std::vector<ShareBar> bars;  // from the top
  std::string axis;            // what the shares are of
  int width = 816;
};

// A matrix, row 0 at the top. Values that are not finite (masked positions) are drawn grey.
struct HeatMap {
  enum class Colours {
    sequential,  // from the least to the greatest value
    diverging,   // white at zero, red above, blue below, the same reach to both sides
  };

  std::string title;
  std::string subtitle;
  Axis rows;
  Axis columns;
  std::vector<std::vector<double>> values;  // [rows][columns], rows of equal length
  std::string value_title;
  Colours colours = Colours::sequential;
  int size = 360;  // pixels of the longer side of the matrix
};

// Several heat maps (one a head, say) side by side under one title.
struct HeatMapGrid {
  std::string title;
  std::string subtitle;
  std::vector<HeatMap> maps;
  std::size_t columns = 4;
};

Drawing draw(const LineChart& chart);
Drawing draw(const LineChartGrid& grid);
Drawing draw(const DotChart& chart);
Drawing draw(const ShareChart& chart);
Drawing draw(const HeatMap& chart);
Drawing draw(const HeatMapGrid& grid);

// A standalone picture has its own colours and ground (svg.h); an embedded one is part of a page
// that holds chart_style() once.
enum class SvgUse { standalone, embedded };
std::string to_svg(const Drawing& drawing, SvgUse use = SvgUse::standalone);
template <class Chart>
std::string to_svg(const Chart& chart, SvgUse use = SvgUse::standalone) {
  return to_svg(draw(chart), use);
}

// The style sheet that embedded charts rely on.
std::string chart_style();

// A page of the picture's size, in the light colours. Text is in Helvetica and Symbol, which every
// reader has; characters that they lack become "?", and a warning counts them.
std::string to_pdf(const Drawing& drawing);

// The bytes of a file with this name: PDF if it ends in .pdf, else SVG.
std::string picture_file(const Drawing& drawing, std::string_view file);
// True for names that end in .svg or .pdf.
bool is_picture(std::string_view file);
// Throws Error (usage) for a --chart that is neither a picture nor a page (.html).
void require_chart_name(const std::string& file);

}  // namespace roformer
