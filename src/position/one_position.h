// Wraps a scheme and evaluates it as if all queries and keys had the same position, which shows its
// attention without positions: all rotations are equal, and biases and content-position terms are
// those of distance 0, so that only the content matters.
#pragma once

#include "position/scheme.h"

namespace roformer {

// Left out in each: running sums of gates and weights of the scheme's own, which count tokens by
// their order (a softmax takes the weights' place). The mask stays: the context holds it.
enum class WithoutPositions {
  as_they_stand,  // nothing else
  one_position,   // and everything else is asked at position 0
  plain_products  // and q.k is all there is: for schemes that count positions by the content
};

class OnePosition : public PositionScheme {
 public:
  // `scheme` outlives it.
  OnePosition(const PositionScheme& scheme, WithoutPositions what) : scheme_(scheme), what_(what) {}

  SchemeCapabilities capabilities() const override;
  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override;
  at::Tensor transformed(const AttentionContext& context, const at::Tensor& x,
                         TokenSide side) const override;
  at::Tensor bias(const AttentionContext& context) const override;
  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override;
  at::Tensor value_term(const AttentionContext& context,
                        const at::Tensor& probabilities) const override;
  double score_scale(std::int64_t head_width) const override;

 private:
  const PositionScheme& scheme_;
  WithoutPositions what_;

  bool plain() const { return what_ == WithoutPositions::plain_products; }
  AttentionContext moved(AttentionContext context) const;
};

}  // namespace roformer
