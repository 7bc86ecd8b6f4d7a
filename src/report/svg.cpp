#include "report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace roformer {
namespace {

constexpr const char* kFont =
    "system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,'Noto Sans','Liberation "
    "Sans',sans-serif";

// All of a style but its colours.
std::string shape_declarations(const MarkStyle& style) {
  std::string result;
  const auto add = [&](const std::string& text) { result += (result.empty() ? "" : ";") + text; };
  if (style.fill == Paint::none) add("fill:none");
  if (style.stroke_width > 0) add(fmt::format("stroke-width:{}", style.stroke_width));
  if (!style.dashes.empty()) add(fmt::format("stroke-dasharray:{}", style.dashes));
  if (style.opacity > 0) add(fmt::format("opacity:{}", style.opacity));
  if (!style.others.empty()) add(std::string(style.others));
  return result;
}

std::string colour_declarations(const MarkStyle& style, std::size_t series, Ground ground) {
  std::string result;
  if (style.fill && style.fill != Paint::none) {
    result += "fill:" + colour_of(*style.fill, series, ground);
  }
  if (style.stroke) {
    result += (result.empty() ? "stroke:" : ";stroke:") + colour_of(*style.stroke, series, ground);
  }
  return result;
}

std::string colour_rules(Ground ground) {
  std::string result = ".chart text{fill:" + colour_of(Paint::ink, 0, ground) + "}\n";
  for (const auto& [name, style] : styles()) {
    const bool of_series = style.fill == Paint::series || style.stroke == Paint::series;
    if (colour_declarations(style, 0, ground).empty()) continue;
    for (std::size_t i = 0; i < (of_series ? kSeriesColours : 1); ++i) {
      result += fmt::format(".chart .{}{}{{{}}}\n", name, of_series ? fmt::format(".c{}", i) : "",
                            colour_declarations(style, i, ground));
    }
  }
  return result;
}

// "fill:none;stroke-width:2" -> ` fill="none" stroke-width="2"`
std::string as_attributes(std::string_view declarations) {
  std::string result;
  while (!declarations.empty()) {
    const std::string_view one = declarations.substr(0, declarations.find(';'));
    const std::size_t colon = one.find(':');
    const std::string_view name = one.substr(0, colon);
    // Not an attribute of SVG; in CSS alone.
    if (name != "font-variant-numeric") {
      result += fmt::format(" {}=\"{}\"", name, one.substr(colon + 1));
    }
    declarations.remove_prefix(std::min(one.size() + 1, declarations.size()));
  }
  return result;
}

class SvgWriter {
 public:
  explicit SvgWriter(SvgUse use) : use_(use) {}

  std::string write(const Marks& marks) const {
    std::string result;
    for (const Mark& mark : marks) result += write(mark);
    return result;
  }

  std::string write(const Mark& mark) const {
    const auto at = [&](std::size_t i) { return mark.points[i]; };
    switch (mark.kind) {
      case Mark::Kind::line:
        return fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"{}/>\n",
                           coordinate(at(0).x), coordinate(at(0).y), coordinate(at(1).x),
                           coordinate(at(1).y), look(mark));
      case Mark::Kind::path:
        return fmt::format(
            "<path d=\"{}\"{}{}/>\n", path_data(mark), look(mark),
            mark.name.empty() ? "" : fmt::format(" data-name=\"{}\"", escape_xml(mark.name)));
      case Mark::Kind::circle:
        return fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}{}\n", coordinate(at(0).x),
                           coordinate(at(0).y), coordinate(mark.radius), look(mark),
                           end_of(mark, "circle"));
      case Mark::Kind::rectangles:
        return rectangles(mark);
      case Mark::Kind::text:
        return text(mark);
      case Mark::Kind::group:
        return group(mark);
    }
    return "";
  }

 private:
  SvgUse use_;

  // The classes and, in a picture that is alone, what they mean.
  std::string look(const Mark& mark) const {
    std::string result = mark.classes.empty() ? "" : " class=\"" + mark.classes + "\"";
    if (use_ == SvgUse::standalone) {
      const MarkStyle style = style_of(mark);
      result += as_attributes(colour_declarations(style, style.series, Ground::light)) +
                as_attributes(shape_declarations(style));
    } else if (!mark.dashes.empty()) {
      result += fmt::format(" stroke-dasharray=\"{}\"", mark.dashes);
    }
    if (!mark.fill.empty()) result += " fill=\"" + mark.fill + "\"";
    return result;
  }

  static std::string end_of(const Mark& mark, std::string_view element) {
    if (mark.tooltip.empty()) return "/>";
    return fmt::format("><title>{}</title></{}>", escape_xml(mark.tooltip), element);
  }

  static std::string path_data(const Mark& mark) {
    if (!mark.closed) return line_path(mark.points);
    std::string result;
    std::vector<Point> shape;
    const auto close = [&] {
      if (!shape.empty()) result += line_path(shape) + "Z";
      shape.clear();
    };
    for (const Point& point : mark.points) point.drawn() ? shape.push_back(point) : close();
    close();
    return result;
  }

  std::string rectangles(const Mark& mark) const {
    if (mark.rectangles.size() == 1) {
      const PlotArea& one = mark.rectangles.front();
      return fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}{}\n",
                         coordinate(one.left), coordinate(one.top), coordinate(one.width),
                         coordinate(one.height), look(mark), end_of(mark, "rect"));
    }
    std::string data;
    for (const PlotArea& one : mark.rectangles) {
      const std::string width = coordinate(one.width);
      data += fmt::format("M{} {}h{}v{}h-{}z", coordinate(one.left), coordinate(one.top), width,
                          coordinate(one.height), width);
    }
    return fmt::format("<path d=\"{}\"{}/>\n", data, look(mark));
  }

  // Not every program draws an outline below its letters (paint-order), so a halo is a text, too.
  std::string text(const Mark& mark) const {
    if (const std::size_t halo = mark.classes.find(" halo"); halo != std::string::npos) {
      Mark plain = mark;
      plain.classes.erase(halo, 5);
      return text_element(mark, " aria-hidden=\"true\"") + text_element(plain);
    }
    return text_element(mark);
  }

  std::string text_element(const Mark& mark, std::string_view more = "") const {
    const std::string x = coordinate(mark.points[0].x), y = coordinate(mark.points[0].y);
    return fmt::format("<text x=\"{}\" y=\"{}\"{}{}{}{}>{}</text>\n", x, y, look(mark), more,
                       mark.anchor == "start" ? "" : " text-anchor=\"" + mark.anchor + "\"",
                       mark.upwards ? fmt::format(" transform=\"rotate(-90 {} {})\"", x, y) : "",
                       escape_xml(mark.text));
  }

  // A nested svg cuts off what is outside, and needs no id to be referred to.
  std::string group(const Mark& mark) const {
    if (mark.clip) {
      return fmt::format(
          "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\" "
          "overflow=\"hidden\">\n{4}</svg>\n",
          coordinate(mark.clip->left), coordinate(mark.clip->top), coordinate(mark.clip->width),
          coordinate(mark.clip->height), write(mark.marks));
    }
    return fmt::format("<g{} transform=\"translate({} {}){}\">\n{}</g>\n", look(mark),
                       coordinate(mark.points[0].x), coordinate(mark.points[0].y),
                       mark.scale == 1 ? "" : fmt::format(" scale({:.6g})", mark.scale),
                       write(mark.marks));
  }
};

}  // namespace

std::string escape_xml(std::string_view text) {
  constexpr std::string_view kMarks = "&<>\"";
  constexpr std::array<std::string_view, 4> kEntities{"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string result;
  for (const char c : text) {
    if (const std::size_t mark = kMarks.find(c); mark != std::string_view::npos) {
      result += kEntities[mark];
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') {
      result += c;
    }
  }
  return result;
}

std::string coordinate(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string line_path(const std::vector<Point>& points) {
  std::string result;
  bool joined = false;
  for (const Point& point : points) {
    if (point.drawn()) {
      result += (joined ? "L" : "M") + coordinate(point.x) + " " + coordinate(point.y);
    }
    joined = point.drawn();
  }
  return result;
}

std::string to_svg(const Drawing& drawing, SvgUse use) {
  const bool alone = use == SvgUse::standalone;
  const std::string width = coordinate(drawing.width);
  const std::string height = coordinate(drawing.height);
  std::string result = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" role=\"img\" aria-label=\"{}\" "
      "viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\"{}{}>\n<title>{}</title>\n"
      "<desc>{}</desc>\n",
      escape_xml(drawing.title), width, height, width, height,
      alone ? fmt::format(" font-family=\"{}\" font-size=\"{}\"", kFont, kFontSize) : "",
      drawing.attributes, escape_xml(drawing.title), escape_xml(drawing.description));
  const SvgWriter writer(use);
  if (alone) {
    result += "<style>\n@media (prefers-color-scheme:dark){\n" + colour_rules(Ground::dark) +
              "}\n</style>\n";
    result +=
        fmt::format("<rect class=\"surface\" width=\"{}\" height=\"{}\" rx=\"6\" fill=\"{}\"/>\n",
                    width, height, colour_of(Paint::surface, 0, Ground::light));
  }
  return result + writer.write(drawing.marks) + "</svg>\n";
}

std::string chart_style() {
  std::string result = fmt::format(".chart{{font:{}px {}}}\n", kFontSize, kFont);
  for (const auto& [name, style] : styles()) {
    const std::string shape = shape_declarations(style);
    if (!shape.empty()) result += fmt::format(".chart .{}{{{}}}\n", name, shape);
  }
  return result + colour_rules(Ground::light) + "@media (prefers-color-scheme:dark){\n" +
         colour_rules(Ground::dark) + "}\n";
}

}  // namespace roformer
