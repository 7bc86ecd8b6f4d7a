// Heat maps: the values in a few dozen colours, one path a colour, so that a matrix of some hundred
// rows stays a small picture.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include "base/error.h"
#include "report/chart_parts.h"

namespace roformer {
namespace {

constexpr int kLevels = 64;

// Anchors of viridis (matplotlib) and of ColorBrewer's RdBu, both safe for the colour-blind.
using Anchors = std::array<std::uint32_t, 9>;  // 0xRRGGBB
constexpr Anchors kSequential{0x440154, 0x472c7a, 0x3b518b, 0x2c718e, 0x21908d,
                              0x27ad81, 0x5cc863, 0xaadc32, 0xfde725};
constexpr Anchors kDiverging{0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7,
                             0xfddbc7, 0xf4a582, 0xd6604d, 0xb2182b};

std::string level_colour(int level, HeatMap::Colours colours) {
  const Anchors& anchors = colours == HeatMap::Colours::sequential ? kSequential : kDiverging;
  const double point = static_cast<double>(level) / (kLevels - 1) * (anchors.size() - 1);
  const auto below = std::min(static_cast<std::size_t>(point), anchors.size() - 2);
  const double share = point - static_cast<double>(below);
  const auto blend = [&](int shift) {
    const double a = anchors[below] >> shift & 0xff, b = anchors[below + 1] >> shift & 0xff;
    return static_cast<int>(std::lround(a + share * (b - a)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", blend(16), blend(8), blend(0));
}

struct ValueRange {
  double low = 0;
  double high = 1;

  int level(double value) const {
    const double point = (value - low) / (high - low) * (kLevels - 1);
    return static_cast<int>(std::lround(std::clamp(point, 0.0, kLevels - 1.0)));
  }
};

ValueRange range_of(const HeatMap& chart) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const std::vector<double>& row : chart.values) {
    ROFORMER_ASSERT(row.size() == chart.values.front().size());
    for (const double value : row) {
      if (!std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (low > high) return {};
  if (chart.colours == HeatMap::Colours::diverging) {
    high = std::max(std::abs(low), std::abs(high));
    low = -high;
  }
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  return {.low = low, .high = high};
}

// The cells of each level in units of cells; level -1 is for masked positions. Neighbours of one
// level in a row are one rectangle.
std::map<int, std::vector<PlotArea>> cells_of_levels(const HeatMap& chart,
                                                     const ValueRange& range) {
  std::map<int, std::vector<PlotArea>> levels;
  const auto level_of = [&](double value) {
    return std::isfinite(value) ? range.level(value) : -1;
  };
  for (std::size_t row = 0; row < chart.values.size(); ++row) {
    const std::vector<double>& values = chart.values[row];
    for (std::size_t begin = 0; begin < values.size();) {
      const int level = level_of(values[begin]);
      std::size_t end = begin + 1;
      while (end < values.size() && level_of(values[end]) == level) ++end;
      levels[level].push_back({.left = static_cast<double>(begin),
                               .top = static_cast<double>(row),
                               .width = static_cast<double>(end - begin),
                               .height = 1});
      begin = end;
    }
  }
  return levels;
}

// The axis of rows or columns: ticks at cells' centres, numbered from 0 or over the given range.
struct CellAxis {
  const Axis& axis;
  std::size_t cells;

  // The names that fit, or numbers.
  std::vector<Tick> ticks(int target, double pixels) const {
    if (axis.names.empty()) return make_ticks(scale(), target);
    ROFORMER_ASSERT(axis.names.size() == cells);
    constexpr double kLineHeight = 14, kLongest = 150;
    const double room = pixels / static_cast<double>(cells);
    const auto step = static_cast<std::size_t>(std::max(1.0, std::ceil(kLineHeight / room)));
    std::vector<Tick> named;
    for (std::size_t i = 0; i < cells; i += step) {
      named.push_back({static_cast<double>(i), fitted_text(axis.names[i], kLongest)});
    }
    return named;
  }

  AxisScale scale() const {
    const double first = axis.minimum.value_or(0);
    const double last = axis.maximum.value_or(first + static_cast<double>(cells) - 1);
    const double half = cells > 1 ? 0.5 * (last - first) / static_cast<double>(cells - 1) : 0.5;
    return {.low = first - half, .high = last + half};
  }
};

Marks colour_bar(const HeatMap& chart, const ValueRange& range, const PlotArea& bar) {
  Marks result;
  const double step = bar.height / kLevels;
  for (int level = 0; level < kLevels; ++level) {
    result += Mark{.kind = Mark::Kind::rectangles,
                   .classes = "cells",
                   .rectangles = {{.left = bar.left,
                                   .top = bar.bottom() - step * (level + 1),
                                   .width = bar.width,
                                   .height = step + 0.3}},
                   .fill = level_colour(level, chart.colours)};
  }
  const AxisScale scale{.low = range.low, .high = range.high};
  for (const Tick& tick : make_ticks(scale, vertical_tick_target(bar.height))) {
    const double y = bar.bottom() - bar.height * scale.fraction(tick.value);
    result += line_mark(bar.right(), y, bar.right() + 4, y, "axis");
    result += text_mark(bar.right() + 8, y + 4.2, tick.label, {.classes = "tick"});
  }
  return result;
}

// The picture is as wide as its title asks for.
Heading unbroken(const std::string& title, const std::string& subtitle) {
  return {.title = title,
          .subtitle = subtitle,
          .width = std::max(text_width(title, 15), text_width(subtitle, 12.5)) + 32};
}

struct Picture {
  double width = 0;
  double height = 0;
  std::string description;
  Marks content;  // all but the heading
};

Picture picture_of(const HeatMap& chart) {
  ROFORMER_ASSERT(!chart.values.empty() && !chart.values.front().empty());
  const std::size_t rows = chart.values.size();
  const std::size_t columns = chart.values.front().size();
  const double cell =
      static_cast<double>(chart.size) / static_cast<double>(std::max(rows, columns));
  const ValueRange range = range_of(chart);
  const AxisScale row_scale = CellAxis{chart.rows, rows}.scale();
  const AxisScale column_scale = CellAxis{chart.columns, columns}.scale();

  PlotArea area;
  area.top = unbroken(chart.title, chart.subtitle).height(true);
  area.width = cell * static_cast<double>(columns);
  area.height = cell * static_cast<double>(rows);
  const std::vector<Tick> row_ticks =
      CellAxis{chart.rows, rows}.ticks(vertical_tick_target(area.height), area.height);
  area.left = 26 + widest_tick_label(row_ticks);

  Mark cells{.classes = "cells", .points = {{area.left, area.top}}, .scale = cell};
  for (auto& [level, rectangles] : cells_of_levels(chart, range)) {
    cells.marks += Mark{.kind = Mark::Kind::rectangles,
                        .classes = level < 0 ? "masked" : "",
                        .rectangles = std::move(rectangles),
                        .fill = level < 0 ? "" : level_colour(level, chart.colours)};
  }
  Marks content{std::move(cells)};
  for (const Tick& tick : row_ticks) {
    const double y = area.top + area.height * row_scale.fraction(tick.value);
    content += line_mark(area.left - 4, y, area.left, y, "axis");
    content += text_mark(area.left - 8, y + 4.2, tick.label, {.classes = "tick", .anchor = "end"});
  }
  const std::vector<Tick> column_ticks =
      CellAxis{chart.columns, columns}.ticks(horizontal_tick_target(area.width), area.width);
  // Names that are wider than a column are written upwards.
  const double widest = widest_tick_label(column_ticks);
  const bool turned = !chart.columns.names.empty() && widest + 4 > cell;
  const double labels_height = turned ? widest + 8 : 18;
  for (const Tick& tick : column_ticks) {
    const double x = area.left + area.width * column_scale.fraction(tick.value);
    content += line_mark(x, area.bottom(), x, area.bottom() + 4, "axis");
    Mark label = turned ? text_mark(x + 4.2, area.bottom() + 8, tick.label,
                                    {.classes = "tick", .anchor = "end"})
                        : text_mark(x, area.bottom() + 18, tick.label,
                                    {.classes = "tick", .anchor = "middle"});
    label.upwards = turned;
    content += std::move(label);
  }
  const double below = area.bottom() + labels_height;
  content += text_mark(16, area.top - 12, chart.rows.heading(), {.classes = "muted"});
  content += text_mark(area.left + area.width / 2, below + 20, chart.columns.heading(),
                       {.classes = "muted", .anchor = "middle"});
  const PlotArea bar{
      .left = area.right() + 26, .top = area.top, .width = 14, .height = area.height};
  content += colour_bar(chart, range, bar);
  content += text_mark(bar.left, area.top - 12, chart.value_title, {.classes = "muted"});
  const double heading = unbroken(chart.title, chart.subtitle).width;
  const double labels = std::max(60.0, text_width(chart.value_title, 12.5) + 16);
  return {.width = std::max(heading, bar.left + labels),
          .height = below + 34,
          .description = fmt::format(
              "Heat map of {} rows ({}) and {} columns ({}), from {:.4g} to {:.4g}.", rows,
              chart.rows.heading(), columns, chart.columns.heading(), range.low, range.high),
          .content = std::move(content)};
}

}  // namespace

Drawing draw(const HeatMap& chart) {
  const Picture picture = picture_of(chart);
  return drawing_of(chart, picture.description, picture.width, picture.height, picture.content);
}

Drawing draw(const HeatMapGrid& grid) {
  ROFORMER_ASSERT(grid.columns > 0);
  Marks content;
  std::string description = fmt::format("{} heat maps.", grid.maps.size());
  double width = unbroken(grid.title, grid.subtitle).width;
  double top = unbroken(grid.title, grid.subtitle).height(false);
  for (std::size_t begin = 0; begin < grid.maps.size(); begin += grid.columns) {
    double left = 0;
    double row_height = 0;
    for (std::size_t i = begin; i < std::min(begin + grid.columns, grid.maps.size()); ++i) {
      const HeatMap& map = grid.maps[i];
      const Picture picture = picture_of(map);
      Marks marks = unbroken(map.title, map.subtitle).draw();
      marks += picture.content;
      content += Mark{.points = {{left, top}}, .marks = std::move(marks)};
      description += " " + map.title + ": " + picture.description;
      left += picture.width;
      row_height = std::max(row_height, picture.height);
    }
    top += row_height;
    width = std::max(width, left);
  }
  return drawing_of(grid, std::move(description), width, top, content);
}

}  // namespace roformer
