#include "experiments/stored_chart.h"

#include "experiments/stored_format.h"

namespace roformer {
namespace {

constexpr std::int64_t kWidest = 10'000;  // pixels

const auto describe_axis = [](auto& stored, auto& axis) {
  stored.field("title", axis.title);
  stored.field("unit", axis.unit);
  stored.flag("logarithmic", axis.scale, Axis::Scale::linear, Axis::Scale::logarithmic);
  stored.field("minimum", axis.minimum);
  stored.field("maximum", axis.maximum);
  stored.field("ticks", axis.ticks);
};

const auto describe_series = [](auto& stored, auto& series) {
  stored.field("name", series.name);
  stored.field("x", series.x);
  stored.field("y", series.y);
  stored.field("low", series.low);
  stored.field("high", series.high);
  const bool has_band = !series.low.empty();
  stored.require(series.x.size() == series.y.size(), "y", "as many values as x");
  stored.require(!has_band || series.low.size() == series.y.size(), "low", "as many values as y");
  stored.require(series.low.size() == series.high.size(), "high", "as many values as low");
};

const auto describe_reference = [](auto& stored, auto& line) {
  using Direction = ReferenceLine::Direction;
  stored.flag("horizontal", line.direction, Direction::vertical, Direction::horizontal);
  stored.field("value", line.value);
  stored.field("label", line.label);
};

const auto describe_dot = [](auto& stored, auto& dot) {
  stored.field("name", dot.name);
  stored.field("value", dot.value);
  stored.field("label", dot.label);
  stored.field("low", dot.low);
  stored.field("high", dot.high);
  stored.field("parts", dot.parts);
  stored.field("group", dot.group);
};

const auto describe_lines = [](auto& stored, auto& chart) {
  stored.kind("lines");
  stored.field("title", chart.title);
  stored.field("subtitle", chart.subtitle);
  stored.map("x", chart.x, describe_axis);
  stored.map("y", chart.y, describe_axis);
  stored.list("series", chart.series, describe_series);
  stored.list("context", chart.context, describe_series);
  stored.list("references", chart.references, describe_reference);
  stored.integer("markers", chart.markers, 0, 2);
  stored.integer("width", chart.width, 1, kWidest);
  stored.integer("height", chart.height, 1, kWidest);
};

const auto describe_panels = [](auto& stored, auto& grid) {
  stored.kind("panels");
  stored.field("title", grid.title);
  stored.field("subtitle", grid.subtitle);
  stored.list("panels", grid.panels, describe_lines);
  stored.integer("columns", grid.columns, 1, kWidest);
  stored.integer("width", grid.width, 1, kWidest);
  stored.integer("panel_height", grid.panel_height, 1, kWidest);
};

const auto describe_dots = [](auto& stored, auto& chart) {
  stored.kind("dots");
  stored.field("title", chart.title);
  stored.field("subtitle", chart.subtitle);
  stored.list("dots", chart.dots, describe_dot);
  stored.map("value", chart.value, describe_axis);
  stored.map("format", chart.format,
             [](auto& inner, auto& format) { describe_format(inner, format); });
  stored.list("references", chart.references, describe_reference);
  stored.integer("width", chart.width, 1, kWidest);
};

void describe_chart(auto& stored, auto& chart) {
  using Chart = std::remove_cvref_t<decltype(chart)>;
  if constexpr (std::is_same_v<Chart, LineChart>) describe_lines(stored, chart);
  if constexpr (std::is_same_v<Chart, LineChartGrid>) describe_panels(stored, chart);
  if constexpr (std::is_same_v<Chart, DotChart>) describe_dots(stored, chart);
}

}  // namespace

nlohmann::ordered_json stored_chart(const StudyChart& chart) {
  StoredWriter stored;
  std::visit([&](const auto& one) { describe_chart(stored, one); }, chart);
  return std::move(stored.object);
}

StudyChart read_stored_chart(const nlohmann::json& value, const std::string& file) {
  const JsonFields fields(value, file);
  StudyChart chart = fields.word<StudyChart>(
      "kind", {{"lines", LineChart{}}, {"panels", LineChartGrid{}}, {"dots", DotChart{}}});
  StoredReader stored(fields);
  std::visit([&](auto& one) { describe_chart(stored, one); }, chart);
  return chart;
}

}  // namespace roformer
