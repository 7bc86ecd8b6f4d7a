#include "metrics/translation_metric.h"

#include "base/error.h"

namespace roformer {

TranslationScore TranslationMetric::describe(std::span<const double> sums) const {
  return {.name = name(), .score = score(sums, SumKind::plain).value, .details = ""};
}

std::string TranslationMetric::signature(const SignatureFacts& facts) const {
  std::string text = "nrefs:" + std::to_string(facts.references);
  if (facts.bootstrap) text += "|bs:" + std::to_string(*facts.bootstrap);
  if (facts.randomization) text += "|ar:" + std::to_string(*facts.randomization);
  if (facts.seed) text += "|seed:" + std::to_string(*facts.seed);
  for (const auto& [key, value] : settings()) text += "|" + key + ":" + value;
  return text;
}

void StatisticsTable::append(std::span<const double> row) {
  ROFORMER_ASSERT(row.size() == width_);
  values_.insert(values_.end(), row.begin(), row.end());
}

std::span<const double> StatisticsTable::row(std::size_t index) const {
  return std::span(values_).subspan(index * width_, width_);
}

std::vector<double> StatisticsTable::sums() const {
  std::vector<double> result(width_);
  for (std::size_t i = 0; i < values_.size(); ++i) result[i % width_] += values_[i];
  return result;
}

}  // namespace roformer
