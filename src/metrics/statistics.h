// Statistics over seeds, equal to numpy and scipy.stats: the mean of a handful of runs of one
// configuration, and whether two configurations that share their seeds differ. And statistics over
// answers: the interval of a share or of a clustered mean, and whether two systems that answered
// the same questions differ.
#pragma once

#include <cstdint>
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

// The mean of values that come in clusters (the targets of a row of text), and its error as an
// estimate for all the text that the rows were drawn from. Values of one cluster are alike, so few
// clusters say less than their number of values suggests.
struct ClusteredMean {
  double mean = 0;
  // Standard error by clusters (the linearised ratio estimator of Cochran 1977, section 9A.5,
  // without the correction for a finite population). NaN for fewer than two clusters with values.
  double standard_error = 0;
  std::int64_t clusters = 0;  // with values
};

// `sums` and `counts` of the values of each cluster, [clusters]; at least one value in all.
ClusteredMean clustered_mean(std::span<const double> sums, std::span<const std::int64_t> counts);

// Wilson's score interval at 95 % (Wilson 1927, without a correction of continuity), as
// statsmodels' proportion_confint(method="wilson"); degenerate without trials.
Interval wilson_interval(std::int64_t successes, std::int64_t trials);

// sqrt(p (1 - p) / n); 0 without trials.
double standard_error(std::int64_t successes, std::int64_t trials);

// McNemar's exact test, two-sided, over the questions that one of two systems answers rightly and
// the other wrongly: the probability that they divide at least this unevenly if both systems are
// equally good. As statsmodels' mcnemar(exact=True); 1 where there is no such question.
double mcnemar_exact(std::int64_t only_first_right, std::int64_t only_second_right);

// Student's t distribution: P(T <= quantile) = probability, and P(|T| > |t|).
double student_quantile(double probability, double degrees_of_freedom);
double student_two_sided_p(double t, double degrees_of_freedom);

}  // namespace roformer
