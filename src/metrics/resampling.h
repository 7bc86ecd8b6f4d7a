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
  std::optional<double> p_value;          // none for the baseline
};

// The baseline's result, then that of each other system, all for the same sentences and compared to
// the baseline.
std::vector<PairedResult> paired_bootstrap(const TranslationMetric& metric,
                                           const std::vector<StatisticsTable>& systems,
                                           const Resamples& resamples);

// By swapping the outputs of two systems, sentence by sentence, in `trials` random ways.
std::vector<PairedResult> paired_randomization(const TranslationMetric& metric,
                                               const std::vector<StatisticsTable>& systems,
                                               std::size_t trials, std::uint64_t seed);

}  // namespace roformer
