// How well predictions agree with the truth: metrics of predicted labels, equal to scikit-learn's
// functions of the same name, and correlations of predicted scores, equal to scipy's pearsonr and
// spearmanr, where those are defined.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace roformer {

// A figure of merit. Where a metric is not a number or not defined (constant scores, one class
// predicted, no examples) its value is 0.0 and `degenerate` is set, so that a table never shows NaN
// and the caller can warn.
struct Score {
  double value = 0;
  bool degenerate = false;
};

// Two columns of the same length (a mismatch is a bug of the caller).
struct LabelPairs {
  std::span<const std::int64_t> predictions;  // [N]
  std::span<const std::int64_t> labels;       // [N]
};

// Share of equal labels; degenerate without examples.
Score accuracy(const LabelPairs& pairs);

// 2 TP / (2 TP + FP + FN) of one class; degenerate when that class is never predicted.
Score f1(const LabelPairs& pairs, std::int64_t positive_label = 1);

// Matthews correlation for any number of classes (Gorodkin 2004, the R_K statistic); degenerate
// when predictions or labels are all of one class.
Score matthews(const LabelPairs& pairs);

// How often one class is predicted, true, and both.
struct ClassCounts {
  std::int64_t predicted = 0, actual = 0, both = 0;

  // 0 where undefined, as scikit-learn's zero_division 0.
  double precision() const;
  double recall() const;
  double f1() const;
  bool occurs() const { return predicted + actual > 0; }
};
// The mean of F1 over the classes that occur in predictions or labels, and F1 of all classes counted
// together (scikit-learn's f1_score with average macro and micro; macro over several labels per
// example counts every class). Degenerate where nothing occurs.
Score macro_f1(std::span<const ClassCounts> counts, bool every_class = false);
Score micro_f1(std::span<const ClassCounts> counts);

// The area under the ROC curve: the share of (positive, negative) pairs in which the positive has
// the higher score, ties counting half (Hanley 1982). Degenerate without both kinds.
Score area_under_curve(std::span<const double> scores, const std::vector<bool>& positive);

// True when every prediction is the same label, the mark of a collapsed run.
bool one_class_predicted(std::span<const std::int64_t> predictions);

// Correlations are degenerate for fewer than two examples, a constant column or a value that is not
// finite.

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
