// Metrics of classification over predicted and true labels. All equal scikit-learn's functions of
// the same name where those are defined; see score.h for where they are not.
#pragma once

#include <cstdint>
#include <span>

#include "metrics/score.h"

namespace roformer {

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

// True when every prediction is the same label, the mark of a collapsed run.
bool one_class_predicted(std::span<const std::int64_t> predictions);

}  // namespace roformer
