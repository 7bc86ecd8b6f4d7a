#include "base/period.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace roformer {
namespace {

// Suffixes in the order of Period::Unit.
constexpr std::array<std::string_view, 4> kUnits = {"", "e", "t", "min"};

}  // namespace

Period parse_period(std::string_view text) {
  const auto refuse = [&] {
    throw_usage("", "\"" + std::string(text) + "\" is not a period",
                "write 500 (steps), 3e (epochs), 20Mt (tokens) or 90min");
  };
  // The number ends at its last digit; std::from_chars would read the e of `3e` as an exponent.
  const std::size_t digits = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, digits);
  std::string_view rest = digits == std::string_view::npos ? "" : text.substr(digits);
  Period period;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), period.amount,
                                      std::chars_format::fixed);
  if (number.empty() || parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) {
    refuse();
  }
  // Refuses 010, which some YAML readers take for eight.
  if (number.size() > 1 && number[0] == '0' && number[1] != '.') refuse();
  const bool multiplied = rest.starts_with('k') || rest.starts_with('M') || rest.starts_with('G');
  if (multiplied) {
    period.amount *= rest.front() == 'k' ? 1e3 : rest.front() == 'M' ? 1e6 : 1e9;
    rest.remove_prefix(1);
  }
  constexpr double kMost = 1e15;  // above this, steps can no longer be counted one by one
  if (period.amount > kMost) refuse();
  const auto unit = std::ranges::find(kUnits, rest);
  if (unit == kUnits.end() || (multiplied && rest == "min")) refuse();
  period.unit = static_cast<Period::Unit>(unit - kUnits.begin());
  if (period.unit == Period::Unit::steps && period.amount != std::floor(period.amount)) refuse();
  return period;
}

std::string to_string(const Period& period) {
  double amount = period.amount;
  std::string multiplier;
  if (period.unit == Period::Unit::tokens) {
    for (const auto& [factor, letter] : {std::pair{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}) {
      if (amount != 0 && std::fmod(amount, factor) == 0) {
        amount /= factor;
        multiplier = letter;
        break;
      }
    }
  }
  char buffer[400];  // the smallest double has 326 characters
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, amount, std::chars_format::fixed);
  return std::string(buffer, end.ptr) + multiplier +
         std::string(kUnits[static_cast<std::size_t>(period.unit)]);
}

double Consumed::in(Period::Unit unit) const {
  switch (unit) {
    case Period::Unit::steps:
      return static_cast<double>(steps);
    case Period::Unit::epochs:
      return epochs;
    case Period::Unit::tokens:
      return static_cast<double>(tokens);
    case Period::Unit::minutes:
      return minutes;
  }
  return 0;
}

bool crosses(const Period& every, const Consumed& before, const Consumed& after) {
  if (every.is_zero()) return false;
  return std::floor(before.in(every.unit) / every.amount) <
         std::floor(after.in(every.unit) / every.amount);
}

bool reached(const Period& limit, const Consumed& consumed) {
  return !limit.is_zero() && consumed.in(limit.unit) >= limit.amount;
}

}  // namespace roformer
