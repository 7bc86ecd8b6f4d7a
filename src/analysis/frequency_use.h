// What each rotated pair of features gives to the scores of rotary schemes.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "analysis/ratio_sums.h"
#include "attention/attend.h"

namespace roformer {

// H heads, P pairs.
struct FrequencyUse {
  std::vector<double> wavelengths;  // [P] tokens; infinite for a pair that is not rotated
  at::Tensor query_norm, key_norm;  // [H, P]: root of the mean square
  // [H, P + 1]: the covariance of the pair's part of the score with the score, over the visible
  // keys of a query, as a share of the score's variance; the last is of what is not rotated. They
  // sum to 1; a pair that works against the others has a negative one.
  at::Tensor variance_share;
  at::Tensor share_error;  // [H, P + 1]: standard errors by the texts; NaN for one
};

// Adds up over the calls of one layer.
class FrequencyRecorder {
 public:
  // Takes the first `sequences` of the call. Schemes whose scores are not those of rotated q and k
  // alone are left out.
  void add(const AttendInputs& inputs, std::int64_t sequences);
  std::optional<FrequencyUse> result() const;

 private:
  std::vector<double> wavelengths_;
  at::Tensor query_squares_, key_squares_;  // [H, P]
  RatioSums shares_;                        // [H, P + 1]
  double tokens_ = 0;
};

}  // namespace roformer
