// Two models on the same targets. Most of what makes a loss uncertain is which text was drawn, and
// that is the same for both: their difference is known much better than either loss.
#pragma once

#include <cstdint>

#include "metrics/statistics.h"
#include "tasks/language_evaluation.h"

namespace roformer {

struct PairedLosses {
  double difference = 0;  // second minus first, nats a target: negative where the second is better
  double standard_error = 0;  // of the difference, by the rows of text
  Interval interval;          // Student's, 95 %
  double p_value = 1;         // two-sided; 1 where it is not defined
  std::int64_t targets = 0;
  std::int64_t rows = 0;
};

// Throws Error (usage) where the two were not evaluated on the same targets.
PairedLosses compare_losses(const LanguageEvaluation& first, const LanguageEvaluation& second);

}  // namespace roformer
