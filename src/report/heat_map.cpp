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
#include "report/svg.h"

namespace roformer {
namespace {

constexpr int kLevels = 64;

// Anchors of viridis (matplotlib) and of ColorBrewer's RdBu, both safe for the colour-blind.
using Anchors = std::array<std::uint32_t, 9>;  // 0xRRGGBB
constexpr Anchors kSequential{0x440154, 0x472c7a, 0x3b518b, 0x2c718e, 0x21908d,
                              0x27ad81, 0x5cc863, 0xaadc32, 0xfde725};
constexpr Anchors kDiverging{0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7,
                             0xfddbc7, 0xf4a582, 0xd6604d, 0xb2182b};

std::string colour_of(int level, HeatMap::Colours colours) {
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

// The cells of each level as one path in units of cells; level -1 is for masked positions.
// Neighbours of one level in a row are one rectangle.
std::map<int, std::string> cell_paths(const HeatMap& chart, const ValueRange& range) {
  std::map<int, std::string> paths;
  const auto level_of = [&](double value) {
    return std::isfinite(value) ? range.level(value) : -1;
  };
  for (std::size_t row = 0; row < chart.values.size(); ++row) {
    const std::vector<double>& values = chart.values[row];
    for (std::size_t begin = 0; begin < values.size();) {
      const int level = level_of(values[begin]);
      std::size_t end = begin + 1;
      while (end < values.size() && level_of(values[end]) == level) ++end;
      paths[level] += fmt::format("M{} {}h{}v1h-{}z", begin, row, end - begin, end - begin);
      begin = end;
    }
  }
  return paths;
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

std::string colour_bar(const HeatMap& chart, const ValueRange& range, const PlotArea& bar) {
  std::string result;
  const double step = bar.height / kLevels;
  for (int level = 0; level < kLevels; ++level) {
    result += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" class=\"cells\"/>\n",
        coordinate(bar.left), coordinate(bar.bottom() - step * (level + 1)), coordinate(bar.width),
        coordinate(step + 0.3), colour_of(level, chart.colours));
  }
  const AxisScale scale{.low = range.low, .high = range.high};
  for (const Tick& tick : make_ticks(scale, vertical_tick_target(bar.height))) {
    const double y = bar.bottom() - bar.height * scale.fraction(tick.value);
    result += svg_line(bar.right(), y, bar.right() + 4, y, "axis");
    result += svg_text(bar.right() + 8, y + 4.2, tick.label, {.classes = "tick"});
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
  std::string content;  // all but the heading
};

Picture draw(const HeatMap& chart) {
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

  std::string content =
      fmt::format("<g class=\"cells\" transform=\"translate({} {}) scale({:.6g})\">\n",
                  coordinate(area.left), coordinate(area.top), cell);
  for (const auto& [level, path] : cell_paths(chart, range)) {
    content += level < 0 ? fmt::format("<path d=\"{}\" class=\"masked\"/>\n", path)
                         : fmt::format("<path d=\"{}\" fill=\"{}\"/>\n", path,
                                       colour_of(level, chart.colours));
  }
  content += "</g>\n";
  for (const Tick& tick : row_ticks) {
    const double y = area.top + area.height * row_scale.fraction(tick.value);
    content += svg_line(area.left - 4, y, area.left, y, "axis");
    content += svg_text(area.left - 8, y + 4.2, tick.label, {.classes = "tick", .anchor = "end"});
  }
  const std::vector<Tick> column_ticks =
      CellAxis{chart.columns, columns}.ticks(horizontal_tick_target(area.width), area.width);
  // Names that are wider than a column are written upwards.
  const double widest = widest_tick_label(column_ticks);
  const bool turned = !chart.columns.names.empty() && widest + 4 > cell;
  const double labels_height = turned ? widest + 8 : 18;
  for (const Tick& tick : column_ticks) {
    const double x = area.left + area.width * column_scale.fraction(tick.value);
    content += svg_line(x, area.bottom(), x, area.bottom() + 4, "axis");
    if (turned) {
      content += fmt::format("<g transform=\"translate({} {}) rotate(-90)\">{}</g>\n",
                             coordinate(x + 4.2), coordinate(area.bottom() + 8),
                             svg_text(0, 0, tick.label, {.classes = "tick", .anchor = "end"}));
    } else {
      content +=
          svg_text(x, area.bottom() + 18, tick.label, {.classes = "tick", .anchor = "middle"});
    }
  }
  const double below = area.bottom() + labels_height;
  content += svg_text(16, area.top - 12, chart.rows.heading(), {.classes = "muted"});
  content += svg_text(area.left + area.width / 2, below + 20, chart.columns.heading(),
                      {.classes = "muted", .anchor = "middle"});
  const PlotArea bar{
      .left = area.right() + 26, .top = area.top, .width = 14, .height = area.height};
  content += colour_bar(chart, range, bar);
  content += svg_text(bar.left, area.top - 12, chart.value_title, {.classes = "muted"});
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

std::string to_svg(const HeatMap& chart, SvgUse use) {
  const Picture picture = draw(chart);
  return svg_document(frame_of(chart, picture.description, picture.width, picture.height, use),
                      picture.content);
}

std::string to_svg(const HeatMapGrid& grid, SvgUse use) {
  ROFORMER_ASSERT(grid.columns > 0);
  std::string content;
  std::string description = fmt::format("{} heat maps.", grid.maps.size());
  double width = unbroken(grid.title, grid.subtitle).width;
  double top = unbroken(grid.title, grid.subtitle).height(false);
  for (std::size_t begin = 0; begin < grid.maps.size(); begin += grid.columns) {
    double left = 0;
    double row_height = 0;
    for (std::size_t i = begin; i < std::min(begin + grid.columns, grid.maps.size()); ++i) {
      const HeatMap& map = grid.maps[i];
      const Picture picture = draw(map);
      content +=
          fmt::format("<g transform=\"translate({} {})\">\n{}{}</g>\n", coordinate(left),
                      coordinate(top), unbroken(map.title, map.subtitle).draw(), picture.content);
      description += " " + map.title + ": " + picture.description;
      left += picture.width;
      row_height = std::max(row_height, picture.height);
    }
    top += row_height;
    width = std::max(width, left);
  }
  return svg_document(frame_of(grid, std::move(description), width, top, use), content);
}

}  // namespace roformer
