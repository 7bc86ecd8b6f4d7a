#include "metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.h"

namespace roformer {

double mean(std::span<const double> values) {
  ROFORMER_ASSERT(!values.empty());
  const long double sum = std::accumulate(values.begin(), values.end(), 0.0L);
  return static_cast<double>(sum / static_cast<long double>(values.size()));
}

double sample_standard_deviation(std::span<const double> values) {
  ROFORMER_ASSERT(!values.empty());
  if (values.size() < 2) return 0;
  const long double center = mean(values);
  long double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return static_cast<double>(std::sqrt(squares / static_cast<long double>(values.size() - 1)));
}

double median(std::span<const double> values) {
  ROFORMER_ASSERT(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  const std::size_t upper = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[upper] : (sorted[upper - 1] + sorted[upper]) / 2;
}

Interval student_interval(std::span<const double> values, double confidence) {
  const double center = mean(values);
  if (values.size() < 2) return {.low = center, .high = center, .degenerate = true};
  const double count = static_cast<double>(values.size());
  const double reach = student_quantile(0.5 + 0.5 * confidence, count - 1) *
                       sample_standard_deviation(values) / std::sqrt(count);
  return {.low = center - reach, .high = center + reach};
}

PairedComparison compare_paired(std::span<const double> first, std::span<const double> second,
                                double confidence) {
  ROFORMER_ASSERT(first.size() == second.size() && !first.empty());
  std::vector<double> differences(first.size());
  std::ranges::transform(first, second, differences.begin(), std::minus<>());
  PairedComparison result{.mean_difference = mean(differences),
                          .interval = student_interval(differences, confidence)};
  const double deviation = sample_standard_deviation(differences);
  // Equal differences of numbers that are no multiples of a power of two differ in their last bits.
  double largest = 0;
  for (const double value : first) largest = std::max(largest, std::abs(value));
  for (const double value : second) largest = std::max(largest, std::abs(value));
  if (differences.size() < 2 || deviation <= 1e-12 * largest) {
    result.degenerate = true;
    return result;
  }
  const double count = static_cast<double>(differences.size());
  result.p_value =
      student_two_sided_p(result.mean_difference / (deviation / std::sqrt(count)), count - 1);
  return result;
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double largest = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const auto left = static_cast<double>(order.size() - rank);
    largest = std::max(largest, std::min(1.0, left * p_values[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

ClusteredMean clustered_mean(std::span<const double> sums, std::span<const std::int64_t> counts) {
  ROFORMER_ASSERT(sums.size() == counts.size());
  double total = 0;
  std::int64_t values = 0;
  ClusteredMean result;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    total += sums[i];
    values += counts[i];
    result.clusters += counts[i] > 0 ? 1 : 0;
  }
  ROFORMER_ASSERT(values > 0);
  result.mean = total / static_cast<double>(values);
  double squares = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const double residual = sums[i] - result.mean * static_cast<double>(counts[i]);
    squares += residual * residual;
  }
  const auto clusters = static_cast<double>(result.clusters);
  result.standard_error = result.clusters < 2 ? std::numeric_limits<double>::quiet_NaN()
                                              : std::sqrt(clusters / (clusters - 1) * squares) /
                                                    static_cast<double>(values);
  return result;
}

Interval wilson_interval(std::int64_t successes, std::int64_t trials) {
  ROFORMER_ASSERT(successes >= 0 && successes <= trials);
  if (trials == 0) return {.low = 0, .high = 1, .degenerate = true};
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(successes) / n;
  constexpr double kNormal = 1.959963984540054;  // 97.5 % of a normal distribution are below
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

// Student's t distribution through the regularised incomplete beta function; the C++ library has
// neither, and a library for one function is not worth the dependency.
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
