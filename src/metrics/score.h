// A figure of merit together with the knowledge of whether it means anything. Where a metric is not
// a number or not defined (constant scores, one class predicted, no examples) its value is 0.0 and
// `degenerate` is set, so that a table never shows NaN and the caller can warn.
#pragma once

namespace roformer {

struct Score {
  double value = 0;
  bool degenerate = false;
};

}  // namespace roformer
