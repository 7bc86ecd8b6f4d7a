#include "experiments/stored_chart.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/json.h"
#include "experiments/stored_format.h"

namespace roformer {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json numbers_json(const std::vector<double>& values) {
  ordered_json result = ordered_json::array();
  for (const double value : values) result.push_back(number_json(value));
  return result;
}

ordered_json optional_json(const std::optional<double>& value) {
  return value ? number_json(*value) : ordered_json(nullptr);
}

ordered_json axis_json(const Axis& axis) {
  return {{"title", axis.title},
          {"unit", axis.unit},
          {"logarithmic", axis.scale == Axis::Scale::logarithmic},
          {"minimum", optional_json(axis.minimum)},
          {"maximum", optional_json(axis.maximum)},
          {"ticks", numbers_json(axis.ticks)}};
}

ordered_json series_json(const std::vector<Series>& all) {
  ordered_json result = ordered_json::array();
  for (const Series& series : all) {
    result.push_back({{"name", series.name},
                      {"x", numbers_json(series.x)},
                      {"y", numbers_json(series.y)},
                      {"low", numbers_json(series.low)},
                      {"high", numbers_json(series.high)}});
  }
  return result;
}

ordered_json references_json(const std::vector<ReferenceLine>& lines) {
  ordered_json result = ordered_json::array();
  for (const ReferenceLine& line : lines) {
    result.push_back({{"horizontal", line.direction == ReferenceLine::Direction::horizontal},
                      {"value", number_json(line.value)},
                      {"label", line.label}});
  }
  return result;
}

ordered_json chart_json(const LineChart& chart) {
  return {{"kind", "lines"},
          {"title", chart.title},
          {"subtitle", chart.subtitle},
          {"x", axis_json(chart.x)},
          {"y", axis_json(chart.y)},
          {"series", series_json(chart.series)},
          {"context", series_json(chart.context)},
          {"references", references_json(chart.references)},
          {"markers", static_cast<int>(chart.markers)},
          {"width", chart.width},
          {"height", chart.height}};
}

ordered_json chart_json(const LineChartGrid& grid) {
  ordered_json panels = ordered_json::array();
  for (const LineChart& panel : grid.panels) panels.push_back(chart_json(panel));
  return {{"kind", "panels"},
          {"title", grid.title},
          {"subtitle", grid.subtitle},
          {"panels", std::move(panels)},
          {"columns", grid.columns},
          {"width", grid.width},
          {"panel_height", grid.panel_height}};
}

ordered_json chart_json(const DotChart& chart) {
  ordered_json dots = ordered_json::array();
  for (const Dot& dot : chart.dots) {
    dots.push_back({{"name", dot.name},
                    {"value", number_json(dot.value)},
                    {"label", dot.label},
                    {"low", optional_json(dot.low)},
                    {"high", optional_json(dot.high)},
                    {"parts", numbers_json(dot.parts)},
                    {"group", dot.group}});
  }
  return {{"kind", "dots"},
          {"title", chart.title},
          {"subtitle", chart.subtitle},
          {"dots", std::move(dots)},
          {"value", axis_json(chart.value)},
          {"format", format_json(chart.format)},
          {"references", references_json(chart.references)},
          {"width", chart.width}};
}

constexpr std::int64_t kWidest = 10'000;  // pixels

class ChartReader : StoredReader {
 public:
  explicit ChartReader(const std::string& file) : StoredReader(file, "chart") {}

  StudyChart chart(const json& value) const {
    const std::string kind = text(field(value, "kind"));
    if (kind == "lines") return lines(value);
    if (kind == "panels") return panels(value);
    if (kind == "dots") return dots(value);
    refuse("a chart of lines, panels or dots", field(value, "kind"));
  }

 private:
  bool truth(const json& value) const {
    if (!value.is_boolean()) refuse("true or false", value);
    return value.get<bool>();
  }

  int pixels(const json& value) const { return static_cast<int>(integer(value, 1, kWidest)); }

  std::vector<double> numbers(const json& value) const {
    std::vector<double> result;
    for (const json& one : list(value, "numbers")) result.push_back(number(one));
    return result;
  }

  std::optional<double> optional(const json& value) const {
    return value.is_null() ? std::nullopt : std::optional(number(value));
  }

  Axis axis(const json& value) const {
    return {.title = text(field(value, "title")),
            .unit = text(field(value, "unit")),
            .scale =
                truth(field(value, "logarithmic")) ? Axis::Scale::logarithmic : Axis::Scale::linear,
            .minimum = optional(field(value, "minimum")),
            .maximum = optional(field(value, "maximum")),
            .ticks = numbers(field(value, "ticks"))};
  }

  std::vector<Series> series(const json& value) const {
    std::vector<Series> result;
    for (const json& one : list(value, "series")) {
      result.push_back({.name = text(field(one, "name")),
                        .x = numbers(field(one, "x")),
                        .y = numbers(field(one, "y")),
                        .low = numbers(field(one, "low")),
                        .high = numbers(field(one, "high"))});
      const Series& last = result.back();
      const bool whole = last.x.size() == last.y.size() && last.low.size() == last.high.size() &&
                         (last.low.empty() || last.low.size() == last.y.size());
      if (!whole) refuse("as many values everywhere", one);
    }
    return result;
  }

  std::vector<ReferenceLine> references(const json& value) const {
    using Direction = ReferenceLine::Direction;
    std::vector<ReferenceLine> result;
    for (const json& one : list(value, "references")) {
      result.push_back({.direction = truth(field(one, "horizontal")) ? Direction::horizontal
                                                                     : Direction::vertical,
                        .value = number(field(one, "value")),
                        .label = text(field(one, "label"))});
    }
    return result;
  }

  LineChart lines(const json& value) const {
    return {.title = text(field(value, "title")),
            .subtitle = text(field(value, "subtitle")),
            .x = axis(field(value, "x")),
            .y = axis(field(value, "y")),
            .series = series(field(value, "series")),
            .context = series(field(value, "context")),
            .references = references(field(value, "references")),
            .markers = static_cast<LineChart::Markers>(integer(field(value, "markers"), 0, 2)),
            .width = pixels(field(value, "width")),
            .height = pixels(field(value, "height"))};
  }

  LineChartGrid panels(const json& value) const {
    LineChartGrid grid{
        .title = text(field(value, "title")),
        .subtitle = text(field(value, "subtitle")),
        .columns = static_cast<std::size_t>(integer(field(value, "columns"), 1, kWidest)),
        .width = pixels(field(value, "width")),
        .panel_height = pixels(field(value, "panel_height"))};
    for (const json& panel : list(field(value, "panels"), "panels")) {
      grid.panels.push_back(lines(panel));
    }
    return grid;
  }

  DotChart dots(const json& value) const {
    DotChart chart{.title = text(field(value, "title")),
                   .subtitle = text(field(value, "subtitle")),
                   .value = axis(field(value, "value")),
                   .format = format(field(value, "format")),
                   .references = references(field(value, "references")),
                   .width = pixels(field(value, "width"))};
    for (const json& one : list(field(value, "dots"), "dots")) {
      chart.dots.push_back({.name = text(field(one, "name")),
                            .value = number(field(one, "value")),
                            .label = text(field(one, "label")),
                            .low = optional(field(one, "low")),
                            .high = optional(field(one, "high")),
                            .parts = numbers(field(one, "parts")),
                            .group = text(field(one, "group"))});
    }
    return chart;
  }
};

}  // namespace

nlohmann::ordered_json stored_chart(const StudyChart& chart) {
  return std::visit([](const auto& one) { return chart_json(one); }, chart);
}

StudyChart read_stored_chart(const json& value, const std::string& file) {
  return ChartReader(file).chart(value);
}

}  // namespace roformer
