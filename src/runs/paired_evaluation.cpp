#include "runs/paired_evaluation.h"

#include <vector>

#include "base/error.h"
#include "metrics/statistics.h"

namespace roformer {

PairedLosses compare_losses(const LanguageEvaluation& first, const LanguageEvaluation& second) {
  if (first.targets_by_row != second.targets_by_row ||
      first.targets_fingerprint != second.targets_fingerprint) {
    throw_usage("--against",
                "the two models have other targets, so that no loss pairs with another",
                "runs of one task, tokenizer and data.masking");
  }
  std::vector<double> differences;
  for (std::size_t row = 0; row < first.loss_sums_by_row.size(); ++row) {
    differences.push_back(second.loss_sums_by_row[row] - first.loss_sums_by_row[row]);
  }
  const ClusteredMean mean = clustered_mean(differences, first.targets_by_row);
  PairedLosses result{.difference = mean.mean,
                      .standard_error = mean.standard_error,
                      .interval = {.low = mean.mean, .high = mean.mean, .degenerate = true},
                      .targets = first.targets,
                      .rows = mean.clusters};
  if (mean.clusters < 2) return result;
  const auto freedom = static_cast<double>(mean.clusters - 1);
  const double reach = student_quantile(0.975, freedom) * mean.standard_error;
  result.interval = {.low = mean.mean - reach, .high = mean.mean + reach};
  if (mean.standard_error > 0) {
    result.p_value = student_two_sided_p(mean.mean / mean.standard_error, freedom);
  }
  return result;
}

}  // namespace roformer
