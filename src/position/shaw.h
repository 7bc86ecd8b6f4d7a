// Vectors of the clipped distance that are added to keys and values (Shaw 2018, eq. 3 and 4):
// S_ij = q_i.(k_j + aK[r]), o_i = sum_j P_ij (v_j + aV[r]) with r = clip(j - i, -left, right) +
// left. Shaw trains the vectors, NEZHA fixes them.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "position/scheme.h"

namespace roformer {

class RelativeVectors : public PositionScheme {
 public:
  struct Tables {
    at::Tensor key;    // [left + right + 1, D]
    at::Tensor value;  // the same shape; undefined: keys only
  };

  SchemeCapabilities capabilities() const override {
    return {.scores = ContentScores::changed,
            .value_term = tables_.front().value.defined(),
            .relative_form = true};
  }
  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override;
  at::Tensor value_term(const AttentionContext& context,
                        const at::Tensor& probabilities) const override;
  RelativeForm relative_form(const AttentionContext& context) const override;

 protected:
  RelativeVectors(std::int64_t left, std::int64_t right) : left_(left), right_(right) {}
  std::vector<Tables> tables_;  // one per layer

 private:
  std::int64_t left_, right_;
};

}  // namespace roformer
