// Line charts, alone and as panels of a grid. Series are named at the end of their lines where all
// lines end at the right edge and there is room; otherwise in a legend below the plot, so that no
// name ever covers a line.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "report/chart_parts.h"
#include "report/svg.h"

namespace roformer {

std::vector<Point> thinned(const std::vector<Point>& points) {
  std::vector<Point> result;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin + 1;
    const auto same_pixel = [&](const Point& other) {
      return other.drawn() && points[begin].drawn() &&
             std::floor(other.x) == std::floor(points[begin].x);
    };
    while (end < points.size() && same_pixel(points[end])) ++end;
    const auto by_y = [](const Point& a, const Point& b) { return a.y < b.y; };
    const auto [least, greatest] =
        std::minmax_element(points.begin() + begin, points.begin() + end, by_y);
    std::vector<std::size_t> kept{begin, static_cast<std::size_t>(least - points.begin()),
                                  static_cast<std::size_t>(greatest - points.begin()), end - 1};
    std::ranges::sort(kept);
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    for (const std::size_t i : kept) result.push_back(points[i]);
    begin = end;
  }
  return result;
}

std::vector<double> spread_labels(const std::vector<double>& sorted, const LabelSpace& space) {
  // Neighbours that would overlap form a block around the mean of where they want to be.
  struct Block {
    double center = 0;
    double count = 0;
    double half = 0;  // from the center to the first and the last label
  };
  if (space.gap * (static_cast<double>(sorted.size()) - 1) > space.last - space.first) return {};
  const auto make_block = [&space](double center, double count) {
    const double half = 0.5 * space.gap * (count - 1);
    center = std::min(std::max(center, space.first + half), space.last - half);
    return Block{.center = center, .count = count, .half = half};
  };
  std::vector<Block> blocks;
  for (const double centre : sorted) {
    blocks.push_back(make_block(centre, 1));
    while (blocks.size() > 1) {
      const Block below = blocks.back();
      const Block above = blocks[blocks.size() - 2];
      if (below.center - below.half - above.center - above.half >= space.gap) break;
      blocks.pop_back();
      const double count = above.count + below.count;
      const double center = (above.center * above.count + below.center * below.count) / count;
      blocks.back() = make_block(center, count);
    }
  }
  std::vector<double> centres;
  for (const Block& block : blocks) {
    for (double i = 0; i < block.count; ++i) {
      centres.push_back(block.center - block.half + space.gap * i);
    }
  }
  return centres;
}

namespace {

constexpr std::size_t kMostMarkers = 12;

class LineDrawing {
 public:
  explicit LineDrawing(const LineChart& chart) : chart_(chart) {
    for (const auto* all : {&chart.series, &chart.context}) {
      for (const Series& series : *all) {
        ROFORMER_ASSERT(series.x.size() == series.y.size());
        ROFORMER_ASSERT(series.low.size() == series.high.size());
        ROFORMER_ASSERT(series.low.empty() || series.low.size() == series.y.size());
      }
    }
    fit_scales();
    lay_out();
  }

  Drawing draw() const {
    const auto scale_text = [](const AxisScale& scale, double begin, double length) {
      return fmt::format("[{},{},{},{},{}]", scale.low, scale.high, coordinate(begin),
                         coordinate(length), scale.scale == Axis::Scale::logarithmic ? 1 : 0);
    };
    Drawing drawing = drawing_of(chart_, description(), chart_.width, height(), content());
    drawing.attributes = fmt::format(" data-x=\"{}\" data-y=\"{}\" data-x-title=\"{}\"",
                                     scale_text(x_scale_, area_.left, area_.width),
                                     scale_text(y_scale_, area_.bottom(), -area_.height),
                                     escape_xml(chart_.x.title));
    return drawing;
  }

  // All but the heading.
  Marks content() const {
    Marks result = vertical_axis(chart_.y, y_scale_, area_, heading_height_ - 12);
    result += horizontal_axis(chart_.x, x_scale_, area_);
    result += draw_context();
    result += draw_references();
    result += draw_series();
    return result += (direct_ ? draw_direct_labels() : legend_.draw(16, area_.bottom() + 50));
  }

  double height() const {
    return static_cast<double>(chart_.height) + (direct_ ? 0 : legend_.height());
  }

  std::string description() const {
    std::string names;
    for (const Series& series : chart_.series) names += (names.empty() ? "" : ", ") + series.name;
    return fmt::format("Line chart of {} against {}: {}.", chart_.y.heading(), chart_.x.heading(),
                       names.empty() ? "no data" : names);
  }

 private:
  // A name at the right edge.
  struct Label {
    std::size_t index = 0;  // of the series
    double end = 0;         // where its line ends
    double y = 0;           // of the name
  };

  const LineChart& chart_;
  AxisScale x_scale_;
  AxisScale y_scale_;
  double heading_height_ = 0;
  PlotArea area_;
  Legend legend_;
  std::vector<Label> labels_;
  bool direct_ = false;  // names at the lines' ends, no legend

  void fit_scales() {
    std::vector<double> x;
    std::vector<double> y;
    for (const auto* all : {&chart_.series, &chart_.context}) {
      for (const Series& series : *all) {
        x.insert(x.end(), series.x.begin(), series.x.end());
        for (const auto* values : {&series.y, &series.low, &series.high}) {
          y.insert(y.end(), values->begin(), values->end());
        }
      }
    }
    for (const ReferenceLine& line : chart_.references) {
      (line.direction == ReferenceLine::Direction::vertical ? x : y).push_back(line.value);
    }
    x_scale_ = fit_scale(chart_.x, x, 0);
    const bool nearly_from_zero = x_scale_.low > 0 && x_scale_.low < 0.1 * x_scale_.high;
    if (x_scale_.scale == Axis::Scale::linear && !chart_.x.minimum && nearly_from_zero) {
      x_scale_.low = 0;
    }
    y_scale_ = fit_scale(chart_.y, y, 0.05);
  }

  void lay_out() {
    heading_height_ = heading_of(chart_).height(true);
    area_.top = heading_height_;
    for (const ReferenceLine& line : chart_.references) {
      if (line.direction == ReferenceLine::Direction::vertical && !line.label.empty()) {
        area_.top += 14;  // a line of labels above the plot
        break;
      }
    }
    area_.height = chart_.height - area_.top - 50;
    const std::vector<Tick> ticks = make_ticks(y_scale_, vertical_tick_target(area_.height));
    area_.left = 24 + widest_tick_label(ticks);
    legend_.width = chart_.width - 32.0;
    double widest = 0;
    for (const Series& series : chart_.series) {
      legend_.names.push_back(series.name);
      widest = std::max(widest, text_width(series.name, 12.5));
    }
    direct_ = widest + 44 <= 0.35 * chart_.width && place_labels();
    area_.width = chart_.width - area_.left - (direct_ ? widest + 44 : 24);
  }

  // Finds each name's height beside its line's end; false where some line ends before the right
  // edge or has no point, or a name would be too far from its line.
  bool place_labels() {
    constexpr double kFarthest = 50;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const Series& series = chart_.series[i];
      Label label{.index = i};
      double right = 0;
      for (std::size_t j = 0; j < series.x.size(); ++j) {
        const double height = y_scale_.fraction(series.y[j]);
        if (!std::isfinite(height) || !std::isfinite(x_scale_.fraction(series.x[j]))) continue;
        right = x_scale_.fraction(series.x[j]);
        label.end = area_.bottom() - area_.height * std::clamp(height, 0.0, 1.0);
      }
      if (right < 0.97) return false;
      labels_.push_back(label);
    }
    std::ranges::stable_sort(labels_, [](const Label& a, const Label& b) { return a.end < b.end; });
    std::vector<double> wanted;
    for (const Label& label : labels_) wanted.push_back(label.end);
    const std::vector<double> heights =
        spread_labels(wanted, {.gap = 15, .first = area_.top + 4, .last = area_.bottom()});
    if (heights.empty()) return false;
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      labels_[i].y = heights[i];
      if (std::abs(heights[i] - wanted[i]) > kFarthest) return false;
    }
    return true;
  }

  Point point(double x, double y) const {
    return {area_.left + area_.width * x_scale_.fraction(x),
            area_.bottom() - area_.height * y_scale_.fraction(y)};
  }

  std::vector<Point> points(const Series& series, const std::vector<double>& y) const {
    std::vector<Point> result;
    for (std::size_t i = 0; i < y.size(); ++i) result.push_back(point(series.x[i], y[i]));
    return result;
  }

  // A closed shape between the two borders for each stretch where both are drawn.
  std::vector<Point> band(const Series& series) const {
    const std::vector<Point> low = points(series, series.low);
    const std::vector<Point> high = points(series, series.high);
    std::vector<Point> shapes;
    const auto drawn = [&](std::size_t i) { return low[i].drawn() && high[i].drawn(); };
    for (std::size_t begin = 0; begin < low.size();) {
      std::size_t end = begin;
      while (end < low.size() && drawn(end)) ++end;
      if (end > begin) {
        const auto part = [&](const std::vector<Point>& border) {
          return thinned({border.begin() + static_cast<std::ptrdiff_t>(begin),
                          border.begin() + static_cast<std::ptrdiff_t>(end)});
        };
        const std::vector<Point> above = part(high), below = part(low);
        shapes.insert(shapes.end(), above.begin(), above.end());
        shapes.insert(shapes.end(), below.rbegin(), below.rend());
        shapes.push_back({.x = std::nan(""), .y = 0});
      }
      begin = end + 1;
    }
    return shapes;
  }

  // Lines outside the axes' range are cut off.
  Mark in_plot(Marks marks) const {
    return {.clip = PlotArea{.left = area_.left - 5,
                             .top = area_.top,
                             .width = area_.width + 10,
                             .height = area_.height},
            .marks = std::move(marks)};
  }

  Marks draw_context() const {
    Marks lines;
    for (const Series& series : chart_.context) {
      lines += Mark{.kind = Mark::Kind::path,
                    .classes = "context",
                    .points = thinned(points(series, series.y))};
    }
    return lines.empty() ? lines : Marks{in_plot(std::move(lines))};
  }

  Marks draw_series() const {
    Marks result;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      std::vector<Point> shape = band(chart_.series[i]);
      if (shape.empty()) continue;
      result += Mark{.kind = Mark::Kind::path,
                     .classes = fmt::format("band c{}", series_colour(i)),
                     .points = std::move(shape),
                     .closed = true};
    }
    // The first series are what people look for: they are drawn last, on top.
    for (std::size_t i = chart_.series.size(); i-- > 0;) {
      const Series& series = chart_.series[i];
      const std::vector<Point> all = points(series, series.y);
      result += Mark{.kind = Mark::Kind::path,
                     .classes = fmt::format("line c{}", series_colour(i)),
                     .points = thinned(all),
                     .name = series.name,
                     .dashes = std::string(series_dashes(i))};
      const bool marked =
          chart_.markers == LineChart::Markers::always ||
          (chart_.markers == LineChart::Markers::automatic && all.size() <= kMostMarkers);
      for (const Point& point : all) {
        if (!marked || !point.drawn()) continue;
        result += circle_mark(point.x, point.y, 3, fmt::format("point c{}", series_colour(i)));
      }
    }
    return {in_plot(std::move(result))};
  }

  Marks draw_references() const {
    Marks result;
    for (const ReferenceLine& line : chart_.references) {
      if (line.direction == ReferenceLine::Direction::vertical) {
        const double x = area_.left + area_.width * x_scale_.fraction(line.value);
        result += vertical_reference(line, x, 0.75, area_);
      } else {
        const double y = area_.bottom() - area_.height * y_scale_.fraction(line.value);
        result += line_mark(area_.left, y, area_.right(), y, "reference");
        // Curves begin together on the left more often than they end together on the right.
        result += text_mark(area_.right() - 6, y - 5, line.label,
                            {.classes = "muted halo", .anchor = "end"});
      }
    }
    return result;
  }

  Marks draw_direct_labels() const {
    Marks result;
    for (const Label& label : labels_) {
      const double x = area_.right() + 6;
      const int colour = series_colour(label.index);
      result += Mark{.kind = Mark::Kind::path,
                     .classes = fmt::format("leader c{}", colour),
                     .points = {{x, label.end}, {x + 14, label.y}, {x + 18, label.y}}};
      result += text_mark(x + 22, label.y + 4.2, chart_.series[label.index].name,
                          {.classes = fmt::format("label c{}", colour)});
    }
    return result;
  }
};

// Panels of `width` side by side; returns the height of the highest.
double draw_row(const std::vector<LineChart>& panels, double width, double top, Marks& content) {
  double height = 0;
  for (std::size_t i = 0; i < panels.size(); ++i) {
    const LineDrawing panel(panels[i]);
    Marks marks = heading_of(panels[i]).draw();
    marks += panel.content();
    content += Mark{.points = {{width * static_cast<double>(i), top}}, .marks = std::move(marks)};
    height = std::max(height, panel.height());
  }
  return height;
}

}  // namespace

Drawing draw(const LineChart& chart) {
  return LineDrawing(chart).draw();
}

Drawing draw(const LineChartGrid& grid) {
  ROFORMER_ASSERT(grid.columns > 0);
  const auto columns =
      static_cast<int>(std::max<std::size_t>(1, std::min(grid.columns, grid.panels.size())));
  std::vector<LineChart> panels = grid.panels;
  std::string description = fmt::format("{} charts.", panels.size());
  for (LineChart& panel : panels) {
    panel.width = grid.width / columns;
    panel.height = grid.panel_height;
    description += " " + panel.title + ": " + LineDrawing(panel).description();
  }
  const double width = grid.width;
  Marks content;
  double top = heading_of(grid).height(false);
  for (std::size_t begin = 0; begin < panels.size(); begin += static_cast<std::size_t>(columns)) {
    const std::size_t end = std::min(panels.size(), begin + static_cast<std::size_t>(columns));
    const std::vector<LineChart> row(panels.begin() + static_cast<std::ptrdiff_t>(begin),
                                     panels.begin() + static_cast<std::ptrdiff_t>(end));
    top += draw_row(row, width / columns, top, content);
  }
  return drawing_of(grid, std::move(description), width, top, content);
}

}  // namespace roformer
