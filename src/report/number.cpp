#include "report/number.h"

#include <fmt/format.h>

#include <cmath>

#include "base/progress.h"

namespace roformer {
namespace {

constexpr double kLargestPlain = 1e9;

}  // namespace

std::string format_number(double value, const NumberFormat& format) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text;
  switch (format.style) {
    case NumberFormat::Style::general:
      text = fmt::format("{:.{}g}", value, format.digits);
      // "10,310", not "1.031e+04", as long as the digits can be read.
      if (text.find("e+") != std::string::npos && std::abs(value) < kLargestPlain) {
        text = format_count(std::llround(std::stod(text)));
      }
      break;
    case NumberFormat::Style::fixed:
      text = fmt::format("{:.{}f}", value, format.digits);
      break;
    case NumberFormat::Style::count:
      text =
          std::abs(value) < 9e18 ? format_count(std::llround(value)) : fmt::format("{:g}", value);
      break;
    case NumberFormat::Style::percent:
      text = fmt::format("{:.{}f}", 100 * value, format.digits);
      break;
    case NumberFormat::Style::scientific:
      text = fmt::format("{:.{}e}", value, format.digits);
      break;
  }
  const bool shows_zero = text.find_first_not_of("-0.") == std::string::npos;
  return shows_zero && text.front() == '-' ? text.substr(1) : text;
}

}  // namespace roformer
