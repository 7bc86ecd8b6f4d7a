#include "metrics/resampling.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/error.h"
#include "base/random.h"

namespace roformer {
namespace {

// Each resample's rows are summed in float32, one after the other.
std::vector<NumpyFloat> resampled_scores(const TranslationMetric& metric,
                                         const StatisticsTable& rows, const Resamples& resamples) {
  ROFORMER_ASSERT(rows.rows() == resamples.sentences);
  const std::size_t width = rows.width();
  std::vector<float> values;
  values.reserve(rows.rows() * width);
  for (std::size_t i = 0; i < rows.rows(); ++i) {
    for (const double value : rows.row(i)) values.push_back(static_cast<float>(value));
  }
  std::vector<NumpyFloat> scores;
  scores.reserve(resamples.samples);
  std::vector<float> sums(width);
  std::vector<double> wide(width);
  const std::uint32_t* index = resamples.indices.data();
  for (std::size_t sample = 0; sample < resamples.samples; ++sample) {
    std::ranges::fill(sums, 0.F);
    for (std::size_t i = 0; i < resamples.sentences; ++i) {
      const float* const row = &values[*index++ * width];
      for (std::size_t column = 0; column < width; ++column) sums[column] += row[column];
    }
    std::ranges::copy(sums, wide.begin());
    scores.push_back(metric.score(wide, SumKind::single));
  }
  return numpy_array(std::move(scores));
}

// Half the width of the sorted scores without the 2.5 % at either end.
double half_width(const std::vector<NumpyFloat>& sorted) {
  const std::size_t cut = sorted.size() / 40;
  return (NumpyFloat(0.5) * (sorted[sorted.size() - cut - 1] - sorted[cut])).value;
}

ScoreInterval interval_of(std::vector<NumpyFloat> scores) {
  std::ranges::sort(scores, {}, &NumpyFloat::value);
  return {.mean = numpy_mean(scores).value, .half_width = half_width(scores)};
}

// Python's statistics.mean: rounded once, at the end.
double exact_mean(const std::vector<NumpyFloat>& scores) {
  long double sum = 0;
  for (const NumpyFloat& score : scores) sum += score.value;
  return NumpyFloat(static_cast<double>(sum / scores.size()), scores.front().single).value;
}

double plain_score(const TranslationMetric& metric, const StatisticsTable& rows) {
  return metric.score(rows.sums(), SumKind::plain).value;
}

double p_value(std::size_t above, std::size_t all) {
  return static_cast<double>(above + 1) / static_cast<double>(all + 1);
}

double bootstrap_p_value(const std::vector<NumpyFloat>& baseline,
                         const std::vector<NumpyFloat>& system, double difference) {
  std::vector<NumpyFloat> differences;
  for (std::size_t i = 0; i < system.size(); ++i) {
    const NumpyFloat signed_difference = system[i] - baseline[i];
    differences.emplace_back(std::abs(signed_difference.value), signed_difference.single);
  }
  const NumpyFloat mean = numpy_mean(differences);
  const NumpyFloat threshold(difference, mean.single);
  const auto above = std::ranges::count_if(
      differences, [&](NumpyFloat value) { return (value - mean).value > threshold.value; });
  return p_value(static_cast<std::size_t>(above), differences.size());
}

std::vector<double> subtract(std::span<const double> first, std::span<const double> second) {
  std::vector<double> result(first.begin(), first.end());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] -= second[i];
  return result;
}

double randomization_p_value(const TranslationMetric& metric, const StatisticsTable& baseline,
                             const StatisticsTable& system, std::size_t trials,
                             std::uint64_t seed) {
  const std::vector<double> baseline_sums = baseline.sums();
  const std::vector<double> system_sums = system.sums();
  const double difference = std::abs(plain_score(metric, baseline) - plain_score(metric, system));
  StatisticsTable gains(system.width());  // of the baseline's row taken for the system's
  for (std::size_t i = 0; i < system.rows(); ++i) {
    gains.append(subtract(baseline.row(i), system.row(i)));
  }
  NumpyGenerator generator(seed);
  std::size_t above = 0;
  std::vector<double> first(system.width());
  std::vector<double> second(system.width());
  for (std::size_t trial = 0; trial < trials; ++trial) {
    first = system_sums;
    second = baseline_sums;
    for (std::size_t i = 0; i < gains.rows(); ++i) {
      if (!generator.next_bool()) continue;
      const auto row = gains.row(i);
      for (std::size_t column = 0; column < row.size(); ++column) {
        first[column] += row[column];
        second[column] -= row[column];
      }
    }
    const double drawn = std::abs(metric.score(first, SumKind::integers).value -
                                  metric.score(second, SumKind::integers).value);
    if (drawn > difference) ++above;
  }
  return p_value(above, trials);
}

// The sums [trials, width] that the swaps of each trial move from the baseline to the system.
// The 256 possible sums of eight sentences are tabled, so that a trial adds one row for eight.
std::vector<double> moved_sums(const StatisticsTable& baseline, const StatisticsTable& system,
                               std::size_t trials, std::uint64_t seed) {
  constexpr std::size_t kTogether = 8, kSubsets = 1 << kTogether, kOfNumber = 64 / kTogether;
  const std::size_t width = system.width(), rows = system.rows();
  std::vector<double> sums(trials * width);
  std::vector<double> tables(kOfNumber * kSubsets * width);
  for (std::size_t first = 0; first < rows; first += kOfNumber * kTogether) {
    for (std::size_t group = 0; group < kOfNumber; ++group) {
      double* const table = &tables[group * kSubsets * width];
      for (std::size_t subset = 1; subset < kSubsets; ++subset) {
        const std::size_t row =
            first + group * kTogether + static_cast<std::size_t>(std::countr_zero(subset));
        const std::size_t others = subset & (subset - 1);
        for (std::size_t i = 0; i < width; ++i) {
          table[subset * width + i] = table[others * width + i] +
                                      (row < rows ? baseline.row(row)[i] - system.row(row)[i] : 0);
        }
      }
    }
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const std::uint64_t swaps = random_key({seed, first, trial});
      for (std::size_t group = 0; group < kOfNumber; ++group) {
        const std::size_t subset = swaps >> (group * kTogether) & (kSubsets - 1);
        const double* const gain = &tables[(group * kSubsets + subset) * width];
        for (std::size_t i = 0; i < width; ++i) sums[trial * width + i] += gain[i];
      }
    }
  }
  return sums;
}

}  // namespace

Resamples draw_resamples(std::size_t sentences, std::size_t samples, std::uint64_t seed) {
  ROFORMER_ASSERT(sentences > 0 && sentences < 0xFFFFFFFF && seed > 0);
  Resamples result{.sentences = sentences, .samples = samples};
  result.indices.resize(sentences * samples);
  NumpyGenerator generator(seed);
  for (std::uint32_t& index : result.indices) {
    index = generator.below(static_cast<std::uint32_t>(sentences));
  }
  return result;
}

ScoreInterval bootstrap_interval(const TranslationMetric& metric, const StatisticsTable& rows,
                                 const Resamples& resamples) {
  std::vector<NumpyFloat> scores = resampled_scores(metric, rows, resamples);
  std::ranges::sort(scores, {}, &NumpyFloat::value);
  return {.mean = exact_mean(scores), .half_width = half_width(scores)};
}

std::vector<PairedResult> paired_bootstrap(const TranslationMetric& metric,
                                           const std::vector<StatisticsTable>& systems,
                                           const Resamples& resamples) {
  std::vector<PairedResult> results;
  std::vector<NumpyFloat> baseline;
  for (const StatisticsTable& rows : systems) {
    const std::vector<NumpyFloat> scores = resampled_scores(metric, rows, resamples);
    PairedResult result{.score = plain_score(metric, rows), .interval = interval_of(scores)};
    if (results.empty()) {
      baseline = scores;
    } else {
      const double difference = std::abs(results.front().score - result.score);
      result.p_value = bootstrap_p_value(baseline, scores, difference);
    }
    results.push_back(result);
  }
  return results;
}

std::vector<PairedResult> paired_randomization(const TranslationMetric& metric,
                                               const std::vector<StatisticsTable>& systems,
                                               std::size_t trials, std::uint64_t seed) {
  std::vector<PairedResult> results;
  for (const StatisticsTable& rows : systems) {
    PairedResult result{.score = plain_score(metric, rows)};
    if (!results.empty()) {
      result.p_value = randomization_p_value(metric, systems.front(), rows, trials, seed);
    }
    results.push_back(result);
  }
  return results;
}

double two_sided_p_value(const TranslationMetric& metric, const StatisticsTable& baseline,
                         const StatisticsTable& system, std::size_t trials, std::uint64_t seed) {
  ROFORMER_ASSERT(baseline.rows() == system.rows() && baseline.width() == system.width());
  const std::size_t width = system.width();
  const std::vector<double> moved = moved_sums(baseline, system, trials, seed);
  const std::vector<double> of_baseline = baseline.sums(), of_system = system.sums();
  std::vector<double> first(width), second(width);
  const auto difference = [&](const double* gain) {
    for (std::size_t i = 0; i < width; ++i) {
      first[i] = of_system[i] + gain[i];
      second[i] = of_baseline[i] - gain[i];
    }
    return std::abs(metric.score(first, SumKind::plain).value -
                    metric.score(second, SumKind::plain).value);
  };
  // Statistics of several references may be fractions, whose sums are rounded.
  constexpr double kRounding = 1e-9;
  const double observed = difference(std::vector<double>(width).data()) - kRounding;
  std::size_t count = 0;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    if (difference(&moved[trial * width]) >= observed) ++count;
  }
  return p_value(count, trials);
}

}  // namespace roformer
