// Student's t distribution through the regularised incomplete beta function.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "metrics/statistics.h"

namespace roformer {
namespace {

// The continued fraction of I_x(a, b) by Lentz's method (Abramowitz and Stegun 26.5.8); converges
// quickly for x < (a + 1) / (a + b + 2).
double beta_fraction(double x, double a, double b) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostTerms = 100000;
  const auto away_from_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / away_from_zero(1 - (a + b) * x / (a + 1));
  double result = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_zero(1 + even * d);
    c = away_from_zero(1 + even / c);
    result *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_zero(1 + odd * d);
    c = away_from_zero(1 + odd / c);
    result *= d * c;
    if (std::abs(d * c - 1) < 1e-15) break;
  }
  return result;
}

// I_x(a, b); `complement` is 1 - x, given apart because it may be too small for the subtraction.
double incomplete_beta(double x, double complement, double a, double b) {
  if (x <= 0) return 0;
  if (complement <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(complement));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(x, a, b) / a;
  return 1 - front * beta_fraction(complement, b, a) / b;
}

}  // namespace

double student_two_sided_p(double t, double degrees_of_freedom) {
  ROFORMER_ASSERT(degrees_of_freedom > 0);
  const double square = t * t;
  return incomplete_beta(degrees_of_freedom / (degrees_of_freedom + square),
                         square / (degrees_of_freedom + square), 0.5 * degrees_of_freedom, 0.5);
}

double student_quantile(double probability, double degrees_of_freedom) {
  ROFORMER_ASSERT(probability > 0 && probability < 1);
  if (probability == 0.5) return 0;
  const double two_sided = 2 * std::min(probability, 1 - probability);
  double low = 0;
  double high = 1;
  while (student_two_sided_p(high, degrees_of_freedom) > two_sided)
    low = std::exchange(high, 2 * high);
  for (;;) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) break;
    (student_two_sided_p(middle, degrees_of_freedom) > two_sided ? low : high) = middle;
  }
  return probability < 0.5 ? -high : high;
}

}  // namespace roformer
