// Statistics over seeds: what a handful of runs of one configuration say about its mean, and
// whether two configurations that share their seeds differ. Equal to numpy and scipy.stats.
#pragma once

#include <span>
#include <vector>

namespace roformer {

double mean(std::span<const double> values);                       // of at least one value
double sample_standard_deviation(std::span<const double> values);  // n - 1 below; 0 for one value
double median(std::span<const double> values);                     // of at least one value

// An interval for a mean. Degenerate, with both ends at the mean, for fewer than two values.
struct Interval {
  double low = 0;
  double high = 0;
  bool degenerate = false;
};

// mean +- t * deviation / sqrt(n), two-sided at `confidence` in (0, 1).
Interval student_interval(std::span<const double> values, double confidence = 0.95);

// first - second, pair by pair (the same seed in both).
struct PairedComparison {
  double mean_difference = 0;
  Interval interval;        // Student's, at the confidence asked for
  double p_value = 1;       // two-sided paired t-test; 1 where it is not defined
  bool degenerate = false;  // fewer than two pairs, or all differences equal
};
PairedComparison compare_paired(std::span<const double> first, std::span<const double> second,
                                double confidence = 0.95);

// Holm's (1979) step-down correction of the p-values of a family of comparisons: the chance that
// any true null hypothesis of the family is rejected stays below the level. In the order of
// `p_values`.
std::vector<double> holm_adjusted(std::span<const double> p_values);

// Student's t distribution: P(T <= quantile) = probability, and P(|T| > |t|).
double student_quantile(double probability, double degrees_of_freedom);
double student_two_sided_p(double t, double degrees_of_freedom);

}  // namespace roformer
