#include "report/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

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

}  // namespace roformer
