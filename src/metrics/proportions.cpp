#include "metrics/proportions.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace roformer {
namespace {

constexpr double kNormal = 1.959963984540054;  // 97.5 % of a normal distribution lie below

}  // namespace

Interval wilson_interval(std::int64_t successes, std::int64_t trials) {
  ROFORMER_ASSERT(successes >= 0 && successes <= trials);
  if (trials == 0) return {.low = 0, .high = 1, .degenerate = true};
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n;
  const double square = kNormal * kNormal;
  const double middle = (share + square / (2 * n)) / (1 + square / n);
  const double half =
      kNormal / (1 + square / n) * std::sqrt(share * (1 - share) / n + square / (4 * n * n));
  return {.low = std::max(0.0, middle - half), .high = std::min(1.0, middle + half)};
}

double standard_error(std::int64_t successes, std::int64_t trials) {
  if (trials == 0) return 0;
  const double share = static_cast<double>(successes) / static_cast<double>(trials);
  return std::sqrt(share * (1 - share) / static_cast<double>(trials));
}

double mcnemar_exact(std::int64_t only_first_right, std::int64_t only_second_right) {
  const std::int64_t n = only_first_right + only_second_right;
  const std::int64_t fewer = std::min(only_first_right, only_second_right);
  const auto log_choose = [&](std::int64_t k) {
    return std::lgamma(static_cast<double>(n + 1)) - std::lgamma(static_cast<double>(k + 1)) -
           std::lgamma(static_cast<double>(n - k + 1));
  };
  double tail = 0;
  for (std::int64_t k = 0; k <= fewer; ++k) {
    tail += std::exp(log_choose(k) - static_cast<double>(n) * std::log(2.0));
  }
  return std::min(1.0, 2 * tail);
}

}  // namespace roformer
