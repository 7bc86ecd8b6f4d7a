// xPos (Sun 2022): rotary positions whose pairs also decay with the distance: they grow in q and
// shrink in k. At inference beyond the training length, a query sees its own block and the previous
// one (block-causal attention). Causal only. Section 11.
#include <algorithm>
#include <cmath>

#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

class Xpos : public PositionScheme {
 public:
  explicit Xpos(const SchemeInputs& in)
      : settings_(in.settings.of<XposSettings>()),
        training_length_(settings_.original_length > 0 ? settings_.original_length
                                                       : in.shape.training_length) {}

  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    // Centring halves the range of the exponents. The centre is fixed, so keys can be cached.
    const RotaryAngles growing{
        .frequencies = rotary_frequencies(width, settings_.base),
        .shift = settings_.centered ? -static_cast<double>(training_length_ / 2) : 0,
        .growth = xpos_growth(settings_, width)};
    RotaryAngles shrinking = growing;
    for (double& value : shrinking.growth) value = -value;
    return RotationPair{.query = tables_.at(context, context.queries, growing),
                        .key = tables_.at(context, context.keys, shrinking)};
  }

  at::Tensor mask(const AttentionContext& context) const override {
    const std::int64_t longest = std::max(context.queries.largest(), context.keys.largest()) + 1;
    const std::int64_t block = (training_length_ + 1) / 2;  // training spans at most two blocks
    if (!settings_.block_causal || context.training || longest <= training_length_ || block == 0) {
      return {};
    }
    return block_causal_mask(context.queries, context.keys, block);
  }

 private:
  XposSettings settings_;
  std::int64_t training_length_;
  mutable RotaryTables tables_;
};

}  // namespace

at::Tensor block_causal_mask(const Positions& queries, const Positions& keys, std::int64_t block) {
  const at::Tensor query = queries.tensor().unsqueeze(1), key = keys.tensor().unsqueeze(0);
  return (key <= query).logical_and_(key.floor_divide(block) >= query.floor_divide(block) - 1);
}

std::vector<double> xpos_zeta(std::int64_t width, double gamma) {
  std::vector<double> zeta;
  for (std::int64_t i = 0; i < width / 2; ++i) {
    zeta.push_back((2 * static_cast<double>(i) / static_cast<double>(width) + gamma) / (1 + gamma));
  }
  return zeta;
}

std::vector<double> xpos_growth(const XposSettings& settings, std::int64_t width) {
  std::vector<double> growth = xpos_zeta(width, settings.gamma);
  for (double& value : growth) value = std::log(value) / settings.scale_base;
  return growth;
}

std::unique_ptr<PositionScheme> make_xpos(const SchemeInputs& inputs) {
  return std::make_unique<Xpos>(inputs);
}

}  // namespace roformer
