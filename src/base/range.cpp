#include "base/range.h"

#include <fmt/format.h>

#include <cmath>

namespace roformer {

bool Range::contains(double value) const {
  return (low_open ? value > low : value >= low) && (high_open ? value < high : value <= high);
}

std::string Range::words() const {
  const bool has_low = std::isfinite(low);
  const bool has_high = std::isfinite(high);
  std::string text;
  if (has_low && has_high) {
    text = low_open ? fmt::format("above {}", low) : fmt::format("from {}", low);
    text += high_open ? fmt::format(" to below {}", high) : fmt::format(" to {}", high);
  } else if (has_low) {
    text = low_open ? fmt::format("above {}", low) : fmt::format("of at least {}", low);
  } else if (has_high) {
    text = high_open ? fmt::format("below {}", high) : fmt::format("of at most {}", high);
  }
  return text;
}

std::string Range::words_of(const std::string& kind) const {
  const std::string limits = words();
  return limits.empty() ? kind : kind + " " + limits;
}

}  // namespace roformer
