// Confidence intervals by bootstrap resampling and paired tests of significance (Koehn, 2004;
// Riezler and Maxwell, 2005) for translation metrics, equal to sacreBLEU's under NumPy 2: the same
// draws, the same rounding, so the same intervals and p-values.
#pragma once

#include <cstdint>
#include <vector>

#include "metrics/translation_metric.h"

namespace roformer {

inline constexpr std::uint64_t kResamplingSeed = 12345;

// The mean of the resampled scores, and half the width of the interval that holds 95 % of them.
struct ScoreInterval {
  double mean = 0;
  double half_width = 0;
};

// Draws of `samples` corpora, each as many sentences as there are, with replacement.
struct Resamples {
  std::size_t sentences = 0;
  std::size_t samples = 0;
  std::vector<std::uint32_t> indices;  // [samples, sentences]
};
// `seed` at least 1; `sentences` at least 1.
Resamples draw_resamples(std::size_t sentences, std::size_t samples, std::uint64_t seed);

// For the score of one system.
ScoreInterval bootstrap_interval(const TranslationMetric& metric, const StatisticsTable& rows,
                                 const Resamples& resamples);

struct PairedResult {
  double score = 0;
  std::optional<ScoreInterval> interval;  // of bootstrap resampling
  std::optional<double> p_value;          // sacreBLEU's; none for the baseline
  std::optional<double> two_sided_p;      // two_sided_p_value(), where it was asked for
};

// The baseline's result, then that of each other system, all for the same sentences and compared to
// the baseline. The p-value counts resamples whose absolute difference exceeds its own mean by the
// observed difference: where one system is clearly ahead, only one tail of the distribution.
std::vector<PairedResult> paired_bootstrap(const TranslationMetric& metric,
                                           const std::vector<StatisticsTable>& systems,
                                           const Resamples& resamples);

// By swapping the outputs of two systems, sentence by sentence, in `trials` random ways.
std::vector<PairedResult> paired_randomization(const TranslationMetric& metric,
                                               const std::vector<StatisticsTable>& systems,
                                               std::size_t trials, std::uint64_t seed);

inline constexpr std::size_t kRandomizationTrials = 10000;

// The two-sided p-value of paired approximate randomisation (Riezler and Maxwell 2005): the share
// of `trials` random swaps of the two systems' sentences after which the absolute difference of the
// scores is at least the observed one, as (1 + count) / (1 + trials). Equal systems have 1. The
// swaps are a function of `seed`, and the same for all metrics. Unlike paired_randomization() it
// counts ties, draws with base/random.h, and sums eight sentences at a time.
double two_sided_p_value(const TranslationMetric& metric, const StatisticsTable& baseline,
                         const StatisticsTable& system, std::size_t trials, std::uint64_t seed);

}  // namespace roformer
