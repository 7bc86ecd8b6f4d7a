#include "report/chart_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/terminal.h"

namespace roformer {
namespace {

// The round number next to `step`: 1, 2, 5 or 10 times a power of ten.
double round_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  const double digits = step / power;
  return power * (digits < 1.5 ? 1 : digits < 3.5 ? 2 : digits < 7.5 ? 5 : 10);
}

// Ticks of one axis share their power of a thousand and their digits: 0, 0.5k, 1.0k.
std::vector<Tick> labelled(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  const bool tiny = largest < 1e-3;
  const bool huge = largest >= 1e13;
  const double unit = largest >= 1e10 ? 1e9 : largest >= 1e7 ? 1e6 : largest >= 1e4 ? 1e3 : 1;
  const char* const suffix = unit == 1e9 ? "G" : unit == 1e6 ? "M" : unit == 1e3 ? "k" : "";
  int digits = 0;
  for (const double value : values) {
    const auto is_whole = [&](int places) {
      const double scaled = value / unit * std::pow(10.0, places);
      return std::abs(scaled - std::round(scaled)) < 1e-6 * std::max(1.0, std::abs(scaled));
    };
    while (digits < 6 && !is_whole(digits)) ++digits;
  }
  std::vector<Tick> ticks;
  for (const double value : values) {
    std::string label = "0";
    if (value != 0 && (tiny || huge)) {
      label = fmt::format("{:.3g}", value);
      // 2e-05 -> 2e-5
      const std::size_t zero = label.find_first_of("-+", 1);
      if (zero != std::string::npos && label[zero + 1] == '0') label.erase(zero + 1, 1);
    } else if (value != 0) {
      label = fmt::format("{:.{}f}{}", value / unit, digits, suffix);
    }
    ticks.push_back({.value = value, .label = std::move(label)});
  }
  return ticks;
}

std::vector<double> linear_ticks(double low, double high, int target) {
  const double step = round_step((high - low) / target);
  std::vector<double> values;
  const double slack = 1e-9 * (high - low);
  for (double i = std::ceil((low - slack) / step); i * step <= high + slack; ++i) {
    values.push_back(i * step);
  }
  return values;
}

std::vector<double> logarithmic_ticks(double low, double high, int target) {
  const int first = static_cast<int>(std::floor(std::log10(low) + 1e-9));
  const int last = static_cast<int>(std::ceil(std::log10(high) - 1e-9));
  const int stride = std::max(1, (last - first) / target);
  const bool fine = last - first <= target / 2;
  std::vector<double> values;
  for (int power = first; power <= last; power += stride) {
    for (const double digit : {1.0, 2.0, 5.0}) {
      if (digit != 1.0 && !fine) break;
      const double value = digit * std::pow(10.0, power);
      if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9)) values.push_back(value);
    }
  }
  return values;
}

}  // namespace

double AxisScale::fraction(double value) const {
  if (scale == Axis::Scale::linear) return (value - low) / (high - low);
  if (!(value > 0)) return std::numeric_limits<double>::quiet_NaN();
  return std::log(value / low) / std::log(high / low);
}

AxisScale fit_scale(const Axis& axis, const std::vector<double>& values, double padding) {
  const bool logarithmic = axis.scale == Axis::Scale::logarithmic;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const double value : values) {
    if (!std::isfinite(value) || (logarithmic && value <= 0)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) low = high = 1;  // nothing to show, yet an axis
  if (logarithmic) {
    const double factor = std::pow(high / low, padding);
    low = axis.minimum.value_or(low / factor);
    high = axis.maximum.value_or(high * factor);
    if (!(low > 0)) low = high > 0 ? high / 10 : 1;
    if (!(high > low * (1 + 1e-9))) high = low * 10;
  } else {
    const double margin = padding * (high - low);
    low = axis.minimum.value_or(low - margin);
    high = axis.maximum.value_or(high + margin);
    if (!(high - low > 1e-12 * std::max(std::abs(low), std::abs(high)))) {
      const double reach = low == 0 ? 1 : 0.5 * std::abs(low);
      low -= axis.minimum ? 0 : reach;
      high = low + 2 * reach;
    }
  }
  return {.low = low, .high = high, .scale = axis.scale, .ticks = axis.ticks};
}

std::vector<Tick> make_ticks(const AxisScale& scale, int target) {
  if (!scale.ticks.empty()) {
    std::vector<double> values = scale.ticks;
    std::erase_if(values,
                  [&](double value) { return !(value >= scale.low && value <= scale.high); });
    return labelled(values);
  }
  if (scale.scale == Axis::Scale::logarithmic) {
    std::vector<double> values = logarithmic_ticks(scale.low, scale.high, target);
    // Fewer say too little of a scale that spans no decade: there even steps do.
    if (values.size() >= 3) {
      std::vector<Tick> ticks;
      // Powers of ten differ too much to share digits.
      for (const double value : values) ticks.push_back(labelled({value}).front());
      return ticks;
    }
  }
  return labelled(linear_ticks(scale.low, scale.high, target));
}

namespace {

constexpr double kMargin = 16;
// Never dots alone: noisy curves would dissolve.
constexpr std::array<std::string_view, 5> kDashes{"", "7 3", "3 2.5", "10 3 2.5 3", "6 2 2 2 2 2"};

// Breaks at spaces; a word that is wider than a line gets its own. Empty text has no lines.
std::vector<std::string> fitting_lines(std::string_view text, double font_size, double width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string word(text.substr(0, space));
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    const bool fits =
        !lines.empty() && text_width(lines.back() + " " + word, font_size) <= width + 0.5;
    if (fits) {
      lines.back() += " " + word;
    } else {
      lines.push_back(word);
    }
  }
  return lines;
}

}  // namespace

double text_width(std::string_view text, double font_size) {
  double ems = 0;
  std::size_t ascii = 0;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) continue;
    ++ascii;
    if (std::string_view("iljt.,:;|'!()[] ").find(c) != std::string_view::npos)
      ems += 0.36;
    else if (std::string_view("mwMW@%").find(c) != std::string_view::npos)
      ems += 0.92;
    else
      ems += c >= 'A' && c <= 'Z' ? 0.7 : 0.6;
  }
  const std::size_t columns = columns_of(text);
  ems += 0.6 * static_cast<double>(columns - std::min(ascii, columns));
  return ems * font_size;
}

std::string fitted_text(std::string_view text, double width, double font_size) {
  if (text_width(text, font_size) <= width) return std::string(text);
  std::vector<std::size_t> starts;  // of characters
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) starts.push_back(i);
  }
  std::string result;
  for (std::size_t kept = starts.size(); kept-- > 0;) {
    const std::size_t front = (kept + 1) / 2, back = kept - front;
    result = std::string(text.substr(0, starts[front])) + "…";
    if (back > 0) result += text.substr(starts[starts.size() - back]);
    if (text_width(result, font_size) <= width) break;
  }
  return result;
}

int series_colour(std::size_t index) {
  return static_cast<int>(index % kSeriesColours);
}

std::string_view series_dashes(std::size_t index) {
  return kDashes[(index + index / kSeriesColours) % kDashes.size()];
}

double Heading::height(bool vertical_axis_title) const {
  const auto lines = [this](std::string_view text, double size) {
    return static_cast<double>(fitting_lines(text, size, width - 2 * kMargin).size());
  };
  return 14 + 20 * lines(title, kTitleSize) + 19 * lines(subtitle, kFontSize) +
         (vertical_axis_title ? 32 : 12);
}

Marks Heading::draw() const {
  Marks result;
  double y = 14;
  for (const std::string& line : fitting_lines(title, kTitleSize, width - 2 * kMargin)) {
    result += text_mark(kMargin, y + kTitleSize, line, {.classes = "title"});
    y += 20;
  }
  for (const std::string& line : fitting_lines(subtitle, kFontSize, width - 2 * kMargin)) {
    result += text_mark(kMargin, y + 14, line, {.classes = "muted"});
    y += 19;
  }
  return result;
}

Marks vertical_reference(const ReferenceLine& line, double x, double turn, const PlotArea& area) {
  const bool on_right = x > area.left + turn * area.width;
  return {line_mark(x, area.top - 4, x, area.bottom(), "reference"),
          text_mark(x + (on_right ? 3 : -3), area.top - 8, line.label,
                    {.classes = "muted", .anchor = on_right ? "end" : "start"})};
}

double widest_tick_label(const std::vector<Tick>& ticks) {
  double widest = 0;
  for (const Tick& tick : ticks) widest = std::max(widest, text_width(tick.label, kFontSize));
  return widest;
}

int horizontal_tick_target(double width) {
  return std::clamp(static_cast<int>(width / 80), 2, 10);
}
int vertical_tick_target(double height) {
  return std::clamp(static_cast<int>(height / 48), 3, 8);
}

Marks horizontal_axis(const Axis& axis, const AxisScale& scale, const PlotArea& area) {
  Marks result;
  for (const Tick& tick : make_ticks(scale, horizontal_tick_target(area.width))) {
    const double x = area.left + area.width * scale.fraction(tick.value);
    result += line_mark(x, area.top, x, area.bottom(), "grid");
    result += line_mark(x, area.bottom(), x, area.bottom() + 4, "axis");
    result += text_mark(x, area.bottom() + 18, tick.label, {.classes = "tick", .anchor = "middle"});
  }
  result += line_mark(area.left, area.bottom(), area.right(), area.bottom(), "axis");
  return result += text_mark(area.left + area.width / 2, area.bottom() + 38, axis.heading(),
                             {.classes = "muted", .anchor = "middle"});
}

Marks vertical_axis(const Axis& axis, const AxisScale& scale, const PlotArea& area,
                    double title_baseline) {
  const std::vector<Tick> ticks = make_ticks(scale, vertical_tick_target(area.height));
  Marks result;
  for (const Tick& tick : ticks) {
    const double y = area.bottom() - area.height * scale.fraction(tick.value);
    result += line_mark(area.left, y, area.right(), y, "grid");
    result += text_mark(area.left - 8, y + 4.2, tick.label, {.classes = "tick", .anchor = "end"});
  }
  return result += text_mark(16, title_baseline, axis.heading(), {.classes = "muted"});
}

double Legend::entry_width() const {
  double widest = 0;
  for (const std::string& name : names) widest = std::max(widest, text_width(name, kFontSize));
  return widest + 54;
}

std::size_t Legend::entries_per_row() const {
  return std::max<std::size_t>(1, static_cast<std::size_t>(width / entry_width()));
}

double Legend::height() const {
  const std::size_t rows = (names.size() + entries_per_row() - 1) / entries_per_row();
  return 20.0 * static_cast<double>(rows) + 8;
}

Marks Legend::draw(double left, double top) const {
  Marks result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double x = left + entry_width() * static_cast<double>(i % entries_per_row());
    const double y = top + 20.0 * static_cast<double>(i / entries_per_row()) + 10;
    if (sample == Sample::line) {
      result += Mark{.kind = Mark::Kind::path,
                     .classes = fmt::format("line c{}", series_colour(i)),
                     .points = {{x, y}, {x + 28, y}},
                     .dashes = std::string(series_dashes(i))};
    } else {
      result += circle_mark(x + 20, y, 5, fmt::format("fill c{}", series_colour(i)));
    }
    result += text_mark(x + 34, y + 4.2, names[i], {.classes = "ink"});
  }
  return result;
}

}  // namespace roformer
