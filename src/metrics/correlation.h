// Correlation of predicted and true scores, equal to scipy's pearsonr and spearmanr where those are
// defined; degenerate (value 0.0) for fewer than two examples, a constant column or a value that is
// not finite.
#pragma once

#include <span>
#include <vector>

#include "metrics/score.h"

namespace roformer {

// Two columns of the same length (a mismatch is a bug of the caller).
struct ScorePairs {
  std::span<const double> predictions;  // [N]
  std::span<const double> targets;      // [N]
};

// Product-moment correlation.
Score pearson(const ScorePairs& pairs);

// Pearson correlation of the ranks, ties getting their average rank.
Score spearman(const ScorePairs& pairs);

// Ranks from 1; equal values share the average of the ranks that they take up. No NaN allowed.
std::vector<double> average_ranks(std::span<const double> values);

}  // namespace roformer
