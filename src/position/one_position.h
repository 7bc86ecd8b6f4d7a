// Wraps a scheme and evaluates it as if all queries and keys had the same position. All rotations
// are then equal, and biases and content-position terms are those of distance 0, so only the
// content matters.
#pragma once

#include "position/scheme.h"

namespace roformer {

// Every variant leaves out running sums of gates and weights that replace the softmax, because both
// count tokens by their order. The mask stays, because the context holds it.
enum class WithoutPositions {
  as_they_stand,  // positions are unchanged
  one_position,   // every position is 0
  plain_products  // only q.k remains, for schemes that count positions by the content
};

class OnePosition : public PositionScheme {
 public:
  // `scheme` must outlive this object.
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
