#include "metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

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
  std::sort(sorted.begin(), sorted.end());
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
  std::transform(first.begin(), first.end(), second.begin(), differences.begin(), std::minus<>());
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
  std::stable_sort(order.begin(), order.end(),
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

}  // namespace roformer
