#include "report/drawing.h"

#include <algorithm>
#include <array>

#include "base/error.h"

namespace roformer {
namespace {

struct Palette {
  std::array<const char*, 7> own;  // by Paint, from `surface` on
  std::array<const char*, kSeriesColours> series;
};
constexpr Palette kLight{
    {"#ffffff", "#1b2330", "#5a6574", "#e8ebef", "#a5aeba", "#cdd3da", "#c9ced6"},
    {"#0b68b0", "#c4500c", "#007f66", "#8449ad", "#966a00", "#bd3a82", "#525d6b", "#1f88bd"}};
constexpr Palette kDark{
    {"#151a21", "#e6eaf0", "#98a4b3", "#29303a", "#56616f", "#3b4552", "#3a424d"},
    {"#62b1f2", "#ff925a", "#45c9a5", "#bd9aea", "#dfb445", "#f288bb", "#aab5c2", "#93d9f7"}};

}  // namespace

const std::vector<NamedStyle>& styles() {
  using enum Paint;
  static const std::vector<NamedStyle> kStyles{
      {"ink", {.fill = ink}},
      {"title", {.fill = ink, .others = "font-size:15px;font-weight:600"}},
      {"muted", {.fill = muted}},
      {"tick", {.fill = muted, .others = "font-variant-numeric:tabular-nums"}},
      {"label", {.fill = series, .others = "font-weight:500"}},
      {"halo", {.stroke = surface, .stroke_width = 4, .others = "stroke-linejoin:round"}},
      {"surface", {.fill = surface}},
      {"masked", {.fill = masked}},
      {"grid", {.fill = none, .stroke = grid, .stroke_width = 1}},
      {"axis", {.fill = none, .stroke = axis, .stroke_width = 1}},
      {"reference", {.fill = none, .stroke = muted, .stroke_width = 1.2, .dashes = "2 3"}},
      {"context",
       {.fill = none, .stroke = context, .stroke_width = 1.2, .others = "stroke-linejoin:round"}},
      {"line",
       {.fill = none, .stroke = series, .stroke_width = 2, .others = "stroke-linejoin:round"}},
      {"leader", {.fill = none, .stroke = series, .stroke_width = 1, .opacity = 0.55}},
      {"whisker", {.fill = none, .stroke = series, .stroke_width = 1.8}},
      {"part", {.fill = none, .stroke = series, .stroke_width = 1.2, .opacity = 0.7}},
      {"point", {.fill = surface, .stroke = series, .stroke_width = 2}},
      {"band", {.fill = series, .opacity = 0.16}},
      {"fill", {.fill = series}},
      {"cells", {.others = "shape-rendering:crispEdges"}},
  };
  return kStyles;
}

std::string colour_of(Paint paint, std::size_t series, Ground ground) {
  ROFORMER_ASSERT(paint != Paint::none);
  const Palette& palette = ground == Ground::light ? kLight : kDark;
  return paint == Paint::series ? palette.series[series % kSeriesColours]
                                : palette.own[static_cast<std::size_t>(paint) - 1];
}

MarkStyle style_of(const Mark& mark) {
  MarkStyle result;
  for (std::string_view rest = mark.classes; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word.size() == 2 && word[0] == 'c' && word[1] >= '0' && word[1] <= '7') {
      result.series = static_cast<std::size_t>(word[1] - '0');
      continue;
    }
    const auto known = std::ranges::find(styles(), word, &NamedStyle::name);
    ROFORMER_ASSERT(known != styles().end());
    const MarkStyle& style = known->style;
    if (style.fill) result.fill = style.fill;
    if (style.stroke) result.stroke = style.stroke;
    if (style.stroke_width > 0) result.stroke_width = style.stroke_width;
    if (!style.dashes.empty()) result.dashes = style.dashes;
    if (style.opacity > 0) result.opacity = style.opacity;
    if (!style.others.empty()) result.others = style.others;
  }
  if (!mark.dashes.empty()) result.dashes = mark.dashes;
  return result;
}

Mark text_mark(double x, double y, std::string_view text, const TextStyle& style) {
  return {.kind = Mark::Kind::text,
          .classes = std::string(style.classes),
          .points = {{x, y}},
          .text = std::string(text),
          .anchor = std::string(style.anchor)};
}

Mark line_mark(double x1, double y1, double x2, double y2, std::string_view classes) {
  return {
      .kind = Mark::Kind::line, .classes = std::string(classes), .points = {{x1, y1}, {x2, y2}}};
}

Mark circle_mark(double x, double y, double radius, std::string_view classes,
                 std::string_view tooltip) {
  return {.kind = Mark::Kind::circle,
          .classes = std::string(classes),
          .points = {{x, y}},
          .radius = radius,
          .tooltip = std::string(tooltip)};
}

}  // namespace roformer
