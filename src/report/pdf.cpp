// Drawings as PDF (ISO 32000-1): one page, uncompressed operators, the standard fonts Helvetica and
// Symbol. The coordinates of a drawing go down from the upper left corner; the page's first matrix
// turns them, and that of each text turns it back.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/progress.h"
#include "report/chart.h"
#include "report/drawing.h"
#include "report/svg.h"

namespace roformer {
namespace {

constexpr double kPointsPerPixel = 0.75;

// Thousandths of the font size, of the characters from space to ~ (Adobe's metrics of Helvetica).
constexpr std::array<int, 95> kWidths{
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};

struct Glyph {
  char32_t character;
  int code;
};
// Characters of WinAnsiEncoding outside Latin-1.
constexpr Glyph kWinAnsi[] = {{U'€', 0x80}, {U'…', 0x85}, {U'‘', 0x91}, {U'’', 0x92}, {U'“', 0x93},
                              {U'”', 0x94}, {U'•', 0x95}, {U'–', 0x96}, {U'—', 0x97}, {U'™', 0x99}};
// Characters of Symbol.
constexpr Glyph kSymbol[] = {
    {U'α', 'a'},  {U'β', 'b'},  {U'γ', 'g'},  {U'δ', 'd'},  {U'ε', 'e'},  {U'ζ', 'z'},
    {U'η', 'h'},  {U'θ', 'q'},  {U'κ', 'k'},  {U'λ', 'l'},  {U'μ', 'm'},  {U'ν', 'n'},
    {U'ξ', 'x'},  {U'π', 'p'},  {U'ρ', 'r'},  {U'σ', 's'},  {U'τ', 't'},  {U'φ', 'f'},
    {U'χ', 'c'},  {U'ψ', 'y'},  {U'ω', 'w'},  {U'Γ', 'G'},  {U'Δ', 'D'},  {U'Θ', 'Q'},
    {U'Λ', 'L'},  {U'Π', 'P'},  {U'Σ', 'S'},  {U'Φ', 'F'},  {U'Ψ', 'Y'},  {U'Ω', 'W'},
    {U'−', 0x2d}, {U'≤', 0xa3}, {U'∞', 0xa5}, {U'←', 0xac}, {U'↑', 0xad}, {U'→', 0xae},
    {U'↓', 0xaf}, {U'≥', 0xb3}, {U'∂', 0xb6}, {U'≠', 0xb9}, {U'≈', 0xbb}, {U'√', 0xd6},
    {U'∈', 0xce}, {U'⋅', 0xd7}, {U'∑', 0xe5}, {U'⟨', 0xe1}, {U'⟩', 0xf1}};

struct Run {  // of characters in one font
  bool symbol = false;
  std::string codes;
};

template <std::size_t N>
int code_in(const Glyph (&glyphs)[N], char32_t character) {
  for (const Glyph& glyph : glyphs) {
    if (glyph.character == character) return glyph.code;
  }
  return 0;
}

std::string hexadecimal(std::string_view codes) {
  std::string result = "<";
  for (const char c : codes) result += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return result + ">";
}

double width_of(const std::vector<Run>& runs, double size) {
  double thousandths = 0;
  for (const Run& run : runs) {
    for (const char c : run.codes) {
      const bool known = !run.symbol && c >= ' ' && c <= '~';
      thousandths += known ? kWidths[static_cast<std::size_t>(c - ' ')] : 556;
    }
  }
  return thousandths * size / 1000;
}

class PdfWriter {
 public:
  std::string page(const Drawing& drawing) {
    const double height = kPointsPerPixel * drawing.height;
    out_ = fmt::format("{0} 0 0 -{0} 0 {1} cm\n", kPointsPerPixel, coordinate(height));
    fill_colour(colour_of(Paint::surface, 0, Ground::light));
    out_ += fmt::format("0 0 {} {} re f\n", coordinate(drawing.width), coordinate(drawing.height));
    for (const Mark& mark : drawing.marks) write(mark);
    return std::move(out_);
  }
  // By their names in the page's resources.
  const std::map<std::string, double>& opacities() const { return opacities_; }
  std::int64_t unknown() const { return unknown_; }  // characters

 private:
  std::string out_;
  std::map<std::string, double> opacities_;
  std::int64_t unknown_ = 0;
  double scale_ = 1;  // of the group

  void colour(const std::string& hex, const char* operation) {
    const auto part = [&](std::size_t at) {
      return static_cast<double>(std::stoi(hex.substr(at, 2), nullptr, 16)) / 255;
    };
    out_ += fmt::format("{:.3g} {:.3g} {:.3g} {}\n", part(1), part(3), part(5), operation);
  }
  void fill_colour(const std::string& hex) { colour(hex, "rg"); }

  void write(const Mark& mark) {
    out_ += "q\n";
    const MarkStyle style = style_of(mark);
    if (style.opacity > 0) {
      const std::string name = fmt::format("O{:.0f}", 100 * style.opacity);
      opacities_[name] = style.opacity;
      out_ += "/" + name + " gs\n";
    }
    if (!style.dashes.empty()) out_ += fmt::format("[{}] 0 d\n", style.dashes);
    if (style.stroke) colour(colour_of(*style.stroke, style.series, Ground::light), "RG");
    if (style.stroke_width > 0) out_ += fmt::format("{} w 1 j\n", style.stroke_width);
    const bool filled = !mark.fill.empty() || (style.fill && style.fill != Paint::none);
    if (filled) {
      fill_colour(mark.fill.empty() ? colour_of(*style.fill, style.series, Ground::light)
                                    : mark.fill);
    }
    const char* const paint = filled ? (style.stroke ? "B" : "f") : (style.stroke ? "S" : "n");
    switch (mark.kind) {
      case Mark::Kind::line:
      case Mark::Kind::path:
        path(mark, paint);
        break;
      case Mark::Kind::circle:
        circle(mark.points[0], mark.radius, paint);
        break;
      case Mark::Kind::rectangles:
        // Readers smooth edges, and the ground would shine through between neighbours.
        if (filled && !style.stroke) {
          colour(
              mark.fill.empty() ? colour_of(*style.fill, style.series, Ground::light) : mark.fill,
              "RG");
          out_ += fmt::format("{:.4g} w\n", 0.4 / scale_);
        }
        for (const PlotArea& one : mark.rectangles) rectangle(one);
        out_ += filled ? "B\n" : "n\n";
        break;
      case Mark::Kind::text:
        text(mark, style.stroke.has_value());
        break;
      case Mark::Kind::group:
        group(mark);
        break;
    }
    out_ += "Q\n";
  }

  void group(const Mark& mark) {
    if (mark.clip) {
      rectangle(*mark.clip);
      out_ += "W n\n";
    } else {
      out_ += fmt::format("{0:.6g} 0 0 {0:.6g} {1} {2} cm\n", mark.scale,
                          coordinate(mark.points[0].x), coordinate(mark.points[0].y));
    }
    scale_ *= mark.scale;
    for (const Mark& inside : mark.marks) write(inside);
    scale_ /= mark.scale;
  }

  void rectangle(const PlotArea& one) {
    out_ += fmt::format("{} {} {} {} re\n", coordinate(one.left), coordinate(one.top),
                        coordinate(one.width), coordinate(one.height));
  }

  void path(const Mark& mark, const char* paint) {
    bool joined = false, any = false;
    for (const Point& point : mark.points) {
      if (point.drawn()) {
        out_ +=
            fmt::format("{} {} {}\n", coordinate(point.x), coordinate(point.y), joined ? "l" : "m");
        any = true;
      } else if (joined && mark.closed) {
        out_ += "h\n";
      }
      joined = point.drawn();
    }
    if (joined && mark.closed) out_ += "h\n";
    if (any) out_ += fmt::format("{}\n", paint);
  }

  // Four Bézier curves, whose error is a few thousandths of the radius.
  void circle(const Point& centre, double radius, const char* paint) {
    constexpr double kHandle = 0.5523;
    const auto at = [&](double x, double y) {
      return coordinate(centre.x + radius * x) + " " + coordinate(centre.y + radius * y);
    };
    out_ += at(1, 0) + " m\n";
    double x = 1, y = 0;
    for (int quarter = 0; quarter < 4; ++quarter) {
      const double next_x = -y, next_y = x;
      out_ += fmt::format("{} {} {} c\n", at(x + kHandle * next_x, y + kHandle * next_y),
                          at(next_x + kHandle * x, next_y + kHandle * y), at(next_x, next_y));
      x = next_x;
      y = next_y;
    }
    out_ += fmt::format("h {}\n", paint);
  }

  std::vector<Run> runs_of(std::string_view text) {
    std::vector<Run> runs;
    while (!text.empty()) {
      const NextCharacter next = next_character(text);
      text.remove_prefix(next.bytes);
      const bool latin =
          (next.code >= 0x20 && next.code < 0x7f) || (next.code >= 0xa0 && next.code <= 0xff);
      int code = latin ? static_cast<int>(next.code) : code_in(kWinAnsi, next.code);
      const int symbol = code == 0 ? code_in(kSymbol, next.code) : 0;
      if (!next.valid || code + symbol == 0) {
        code = '?';
        ++unknown_;
      }
      if (runs.empty() || runs.back().symbol != (symbol > 0))
        runs.push_back({.symbol = symbol > 0});
      runs.back().codes += static_cast<char>(symbol > 0 ? symbol : code);
    }
    return runs;
  }

  void text(const Mark& mark, bool halo) {
    const bool title = mark.classes == "title";
    const double size = title ? kTitleSize : kFontSize;
    const std::vector<Run> runs = runs_of(mark.text);
    const double share = mark.anchor == "end" ? 1 : mark.anchor == "middle" ? 0.5 : 0;
    const double back = share * width_of(runs, size);
    const Point& at = mark.points[0];
    const std::string matrix =
        mark.upwards ? fmt::format("0 -1 -1 0 {} {}", coordinate(at.x), coordinate(at.y + back))
                     : fmt::format("1 0 0 -1 {} {}", coordinate(at.x - back), coordinate(at.y));
    for (const int mode : {1, 0}) {  // the outline of a halo, then the text
      if (mode == 1 && !halo) continue;
      out_ += fmt::format("BT {} Tr {} Tm\n", mode, matrix);
      for (const Run& run : runs) {
        out_ += fmt::format("/{} {} Tf {} Tj\n",
                            run.symbol ? "FS"
                            : title    ? "FB"
                                       : "FR",
                            size, hexadecimal(run.codes));
      }
      out_ += "ET\n";
    }
  }
};

// UTF-16 with a byte order mark, as PDF's metadata take it.
std::string utf16(std::string_view text) {
  std::string units = "\xfe\xff";
  const auto add = [&](char32_t unit) {
    units += static_cast<char>(unit >> 8);
    units += static_cast<char>(unit & 0xff);
  };
  while (!text.empty()) {
    const NextCharacter next = next_character(text);
    text.remove_prefix(next.bytes);
    const char32_t code = next.valid ? next.code : U'?';
    if (code >= 0x10000) add(0xd800 + ((code - 0x10000) >> 10));
    add(code >= 0x10000 ? 0xdc00 + ((code - 0x10000) & 0x3ff) : code);
  }
  return hexadecimal(units);
}

}  // namespace

std::string to_pdf(const Drawing& drawing) {
  PdfWriter writer;
  const std::string content = writer.page(drawing);
  std::string states;
  for (const auto& [name, opacity] : writer.opacities()) {
    states += fmt::format("/{} <</ca {} /CA {}>> ", name, opacity, opacity);
  }
  const auto font = [](const char* name, const char* more) {
    return fmt::format("<</Type /Font /Subtype /Type1 /BaseFont /{}{}>>", name, more);
  };
  const std::array objects{
      std::string("<</Type /Catalog /Pages 2 0 R>>"),
      std::string("<</Type /Pages /Kids [3 0 R] /Count 1>>"),
      fmt::format("<</Type /Page /Parent 2 0 R /MediaBox [0 0 {} {}] /Contents 4 0 R /Resources "
                  "<</Font <</FR 5 0 R /FB 6 0 R /FS 7 0 R>> /ExtGState <<{}>>>>>>",
                  coordinate(kPointsPerPixel * drawing.width),
                  coordinate(kPointsPerPixel * drawing.height), states),
      fmt::format("<</Length {}>>\nstream\n{}endstream", content.size(), content),
      font("Helvetica", " /Encoding /WinAnsiEncoding"),
      font("Helvetica-Bold", " /Encoding /WinAnsiEncoding"),
      font("Symbol", ""),
      fmt::format("<</Title {} /Subject {}>>", utf16(drawing.title), utf16(drawing.description))};
  std::string result = "%PDF-1.4\n%\xe2\xe3\xcf\xd3\n";
  std::string places = "0000000000 65535 f \n";
  for (std::size_t i = 0; i < objects.size(); ++i) {
    places += fmt::format("{:010} 00000 n \n", result.size());
    result += fmt::format("{} 0 obj\n{}\nendobj\n", i + 1, objects[i]);
  }
  if (writer.unknown() > 0) {
    log::warn("{} of the chart {} in the PDF: its fonts have no such letters, an SVG has",
              format_counted(writer.unknown(), "character"),
              writer.unknown() == 1 ? "is a ?" : "are ?");
  }
  return result + fmt::format(
                      "xref\n0 {0}\n{1}trailer\n<</Size {0} /Root 1 0 R /Info {2} 0 R>>\n"
                      "startxref\n{3}\n%%EOF\n",
                      objects.size() + 1, places, objects.size(), result.size());
}

std::string picture_file(const Drawing& drawing, std::string_view file) {
  return file.ends_with(".pdf") ? to_pdf(drawing) : to_svg(drawing);
}

void require_chart_name(const std::string& file) {
  if (is_picture(file) || file.ends_with(".html")) return;
  throw_usage("--chart", "\"" + file + "\" is neither .svg nor .pdf nor .html");
}

bool is_picture(std::string_view file) {
  return file.ends_with(".svg") || file.ends_with(".pdf");
}

}  // namespace roformer
