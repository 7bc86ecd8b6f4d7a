#include "metrics/agreement.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "base/error.h"

namespace roformer {
namespace {

Score share(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return {.value = 0, .degenerate = true};
  return {.value = static_cast<double>(part) / static_cast<double>(whole)};
}

}  // namespace

Score accuracy(const LabelPairs& pairs) {
  ROFORMER_ASSERT(pairs.predictions.size() == pairs.labels.size());
  std::int64_t right = 0;
  for (std::size_t i = 0; i < pairs.labels.size(); ++i) {
    right += pairs.predictions[i] == pairs.labels[i];
  }
  return share(right, static_cast<std::int64_t>(pairs.labels.size()));
}

Score f1(const LabelPairs& pairs, std::int64_t positive_label) {
  ROFORMER_ASSERT(pairs.predictions.size() == pairs.labels.size());
  std::int64_t predicted = 0, actual = 0, both = 0;
  for (std::size_t i = 0; i < pairs.labels.size(); ++i) {
    const bool is_predicted = pairs.predictions[i] == positive_label;
    const bool is_actual = pairs.labels[i] == positive_label;
    predicted += is_predicted;
    actual += is_actual;
    both += is_predicted && is_actual;
  }
  if (predicted == 0) return {.value = 0, .degenerate = true};
  return share(2 * both, predicted + actual);
}

Score matthews(const LabelPairs& pairs) {
  ROFORMER_ASSERT(pairs.predictions.size() == pairs.labels.size());
  struct Counts {
    double predicted = 0, actual = 0;
  };
  std::map<std::int64_t, Counts> classes;
  double right = 0;
  const double total = static_cast<double>(pairs.labels.size());
  for (std::size_t i = 0; i < pairs.labels.size(); ++i) {
    classes[pairs.predictions[i]].predicted += 1;
    classes[pairs.labels[i]].actual += 1;
    right += pairs.predictions[i] == pairs.labels[i];
  }
  double cross = 0, predicted_squares = 0, actual_squares = 0;
  for (const auto& [label, counts] : classes) {
    cross += counts.predicted * counts.actual;
    predicted_squares += counts.predicted * counts.predicted;
    actual_squares += counts.actual * counts.actual;
  }
  const double predicted_spread = total * total - predicted_squares;
  const double actual_spread = total * total - actual_squares;
  if (predicted_spread <= 0 || actual_spread <= 0) return {.value = 0, .degenerate = true};
  return {.value =
              (right * total - cross) / (std::sqrt(predicted_spread) * std::sqrt(actual_spread))};
}

double ClassCounts::precision() const {
  return share(both, predicted).value;
}
double ClassCounts::recall() const {
  return share(both, actual).value;
}
double ClassCounts::f1() const {
  return share(2 * both, predicted + actual).value;
}

Score macro_f1(std::span<const ClassCounts> counts, bool every_class) {
  double sum = 0;
  std::int64_t classes = 0;
  for (const ClassCounts& count : counts) {
    if (!every_class && !count.occurs()) continue;
    sum += count.f1();
    ++classes;
  }
  if (classes == 0) return {.value = 0, .degenerate = true};
  return {.value = sum / static_cast<double>(classes)};
}

Score micro_f1(std::span<const ClassCounts> counts) {
  ClassCounts all;
  for (const ClassCounts& count : counts) {
    all.predicted += count.predicted;
    all.actual += count.actual;
    all.both += count.both;
  }
  return share(2 * all.both, all.predicted + all.actual);
}

Score area_under_curve(std::span<const double> scores, const std::vector<bool>& positive) {
  ROFORMER_ASSERT(scores.size() == positive.size());
  const auto positives = static_cast<double>(std::ranges::count(positive, true));
  const double negatives = static_cast<double>(scores.size()) - positives;
  if (positives == 0 || negatives == 0) return {.value = 0, .degenerate = true};
  const std::vector<double> ranks = average_ranks(scores);
  double sum = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (positive[i]) sum += ranks[i];
  }
  return {.value = (sum - positives * (positives + 1) / 2) / (positives * negatives)};
}

bool one_class_predicted(std::span<const std::int64_t> predictions) {
  return std::ranges::adjacent_find(predictions, std::not_equal_to<>()) == predictions.end();
}

namespace {

bool usable(std::span<const double> values) {
  if (values.size() < 2) return false;
  const auto finite = [](double value) { return std::isfinite(value); };
  if (!std::ranges::all_of(values, finite)) return false;
  return std::ranges::adjacent_find(values, std::not_equal_to<>()) != values.end();
}

// The values minus their mean, over their largest magnitude first so that no square overflows, and
// then divided by their Euclidean norm. Long double: scores of a large common offset differ little.
std::vector<long double> standardised(std::span<const double> values) {
  long double largest = 0;
  for (const long double value : values) largest = std::max(largest, std::abs(value));
  std::vector<long double> result(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) result[i] = values[i] / largest;
  const long double mean =
      std::accumulate(result.begin(), result.end(), 0.0L) / static_cast<long double>(result.size());
  long double squares = 0;
  for (long double& value : result) {
    value -= mean;
    squares += value * value;
  }
  const long double norm = std::sqrt(squares);
  for (long double& value : result) value /= norm;
  return result;
}

}  // namespace

Score pearson(const ScorePairs& pairs) {
  ROFORMER_ASSERT(pairs.predictions.size() == pairs.targets.size());
  if (!usable(pairs.predictions) || !usable(pairs.targets)) return {.value = 0, .degenerate = true};
  const std::vector<long double> predictions = standardised(pairs.predictions);
  const std::vector<long double> targets = standardised(pairs.targets);
  const long double correlation =
      std::inner_product(predictions.begin(), predictions.end(), targets.begin(), 0.0L);
  if (!std::isfinite(correlation)) return {.value = 0, .degenerate = true};
  return {.value = static_cast<double>(std::clamp(correlation, -1.0L, 1.0L))};
}

Score spearman(const ScorePairs& pairs) {
  ROFORMER_ASSERT(pairs.predictions.size() == pairs.targets.size());
  if (!usable(pairs.predictions) || !usable(pairs.targets)) return {.value = 0, .degenerate = true};
  const std::vector<double> predictions = average_ranks(pairs.predictions);
  const std::vector<double> targets = average_ranks(pairs.targets);
  return pearson({.predictions = predictions, .targets = targets});
}

std::vector<double> average_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin + 1;
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    const double rank = 0.5 * static_cast<double>(begin + 1 + end);
    for (std::size_t i = begin; i < end; ++i) ranks[order[i]] = rank;
    begin = end;
  }
  return ranks;
}

}  // namespace roformer
