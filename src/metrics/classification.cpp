#include "metrics/classification.h"

#include <algorithm>
#include <cmath>
#include <map>

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
  std::int64_t predicted = 0;
  std::int64_t actual = 0;
  std::int64_t both = 0;
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
    double predicted = 0;
    double actual = 0;
  };
  std::map<std::int64_t, Counts> classes;
  double right = 0;
  const double total = static_cast<double>(pairs.labels.size());
  for (std::size_t i = 0; i < pairs.labels.size(); ++i) {
    classes[pairs.predictions[i]].predicted += 1;
    classes[pairs.labels[i]].actual += 1;
    right += pairs.predictions[i] == pairs.labels[i];
  }
  double cross = 0;
  double predicted_squares = 0;
  double actual_squares = 0;
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

bool one_class_predicted(std::span<const std::int64_t> predictions) {
  return std::adjacent_find(predictions.begin(), predictions.end(), std::not_equal_to<>()) ==
         predictions.end();
}

}  // namespace roformer
