// Charts as SVG: lines with bands, horizontal bars, heat maps. They are readable in light and dark
// (prefers-color-scheme), by colour-blind readers (palette and dashes), by screen readers (title
// and description), and without any file or script beside them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/number.h"

namespace roformer {

struct Axis {
  enum class Scale { linear, logarithmic };

  std::string title;
  std::string unit;  // shown behind the title
  Scale scale = Scale::linear;
  std::optional<double> minimum;  // of the data where not given
  std::optional<double> maximum;
  std::vector<double> ticks = {};  // where to put labels, instead of at round values

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
  std::vector<ReferenceLine> references;
  Markers markers = Markers::automatic;
  int width = 816;  // pixels; the default fills a report's column
  int height = 420;
};

// One group of bars a category, one bar a series in it.
struct BarSeries {
  std::string name;
  std::vector<double> values;      // [categories]; not finite: no bar, "–"
  std::vector<double> deviations;  // [categories] or empty: whiskers
};

struct BarChart {
  std::string title;
  std::string subtitle;
  std::vector<std::string> categories;
  std::vector<BarSeries> series;
  Axis value;
  NumberFormat format;  // of the figures at the bars' ends
  int width = 816;
};

// A matrix, row 0 at the top. Values that are not finite (masked places) are drawn grey.
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

// A standalone picture has its own colours and background; an embedded one is part of a page that
// holds chart_style() once.
enum class SvgUse { standalone, embedded };

std::string to_svg(const LineChart& chart, SvgUse use = SvgUse::standalone);
std::string to_svg(const BarChart& chart, SvgUse use = SvgUse::standalone);
std::string to_svg(const HeatMap& chart, SvgUse use = SvgUse::standalone);
std::string to_svg(const HeatMapGrid& grid, SvgUse use = SvgUse::standalone);

// The style sheet that embedded charts rely on.
std::string chart_style();

}  // namespace roformer
