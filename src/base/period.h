// One type for every "how often" and "how long": `500` (steps), `3e` (epochs), `20Mt` (tokens),
// `90min` (wall time). Multipliers k, M, G go before the unit: `5k` is 5,000 steps.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roformer {

struct Period {
  enum class Unit { steps, epochs, tokens, minutes };

  double amount = 0;
  Unit unit = Unit::steps;

  bool is_zero() const { return amount == 0; }  // zero means "never" or "no limit"
  bool operator==(const Period&) const = default;
};

// Throws Error (usage, without a location) for anything that is not a period.
Period parse_period(std::string_view text);
// The shortest text that parse_period reads back to the same value.
std::string to_string(const Period& period);

// The length of a run so far in every unit, for comparison with periods.
struct Consumed {
  std::int64_t steps = 0;
  double epochs = 0;
  std::int64_t tokens = 0;
  double minutes = 0;

  double in(Period::Unit unit) const;
};

// True if a multiple of `every` lies in (before, after]; never for a zero period.
bool crosses(const Period& every, const Consumed& before, const Consumed& after);
// True if `limit` is not zero and has been reached.
bool reached(const Period& limit, const Consumed& consumed);

}  // namespace roformer
