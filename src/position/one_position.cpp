#include "position/one_position.h"

#include <vector>

#include "tensor/aten.h"

namespace roformer {
namespace {

Positions at_zero(std::int64_t count) {
  return Positions::of(std::vector<std::int64_t>(static_cast<std::size_t>(count)));
}

}  // namespace

AttentionContext OnePosition::moved(AttentionContext context) const {
  if (what_ == WithoutPositions::as_they_stand) return context;
  context.queries = at_zero(context.queries.count());
  context.keys = at_zero(context.keys.count());
  if (context.drawn_positions.defined())
    context.drawn_positions = at::zeros_like(context.drawn_positions);
  return context;
}

SchemeCapabilities OnePosition::capabilities() const {
  const SchemeCapabilities all = scheme_.capabilities();
  // Does not pass on hooks for caches and token inputs.
  SchemeCapabilities capabilities{.value_term = all.value_term, .can_cache = false};
  if (plain()) return capabilities;
  capabilities.transform = all.transform;
  if (all.bias) capabilities.bias = BiasDependence{.on_layer = all.bias->on_layer};
  capabilities.bias_of_positions = all.bias_of_positions;
  capabilities.scores = all.scores;
  return capabilities;
}

std::optional<RotationPair> OnePosition::rotation(const AttentionContext& context,
                                                  std::int64_t width) const {
  if (plain()) return std::nullopt;
  return scheme_.rotation(moved(context), width);
}

at::Tensor OnePosition::transformed(const AttentionContext& context, const at::Tensor& x,
                                    TokenSide side) const {
  return scheme_.transformed(moved(context), x, side);
}

at::Tensor OnePosition::bias(const AttentionContext& context) const {
  return scheme_.bias(moved(context));
}

at::Tensor OnePosition::scores(const AttentionContext& context, const ScoreTerms& terms) const {
  return scheme_.scores(moved(context), terms);
}

at::Tensor OnePosition::value_term(const AttentionContext& context,
                                   const at::Tensor& probabilities) const {
  return scheme_.value_term(moved(context), probabilities);
}

double OnePosition::score_scale(std::int64_t head_width) const {
  return scheme_.score_scale(head_width);
}

}  // namespace roformer
