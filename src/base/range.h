// The numbers that a value may have, for checks and in words.
#pragma once

#include <limits>
#include <string>

namespace roformer {

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;   // low itself is not allowed
  bool high_open = false;  // high itself is not allowed

  bool contains(double value) const;
  std::string words() const;  // "from 0 to below 1", "above 0", "" for any number
  // "an integer from 1 to 9"; only `kind` if any number is allowed.
  std::string words_of(const std::string& kind) const;
};

constexpr Range at_least(double low) {
  return {.low = low};
}
constexpr Range above(double low) {
  return {.low = low, .low_open = true};
}
constexpr Range between(double low, double high) {
  return {.low = low, .high = high};
}
constexpr Range below_one() {
  return {.low = 0, .high = 1, .high_open = true};
}
// A share above 0 and up to 1.
constexpr Range up_to_one() {
  return {.low = 0, .high = 1, .low_open = true};
}

}  // namespace roformer
