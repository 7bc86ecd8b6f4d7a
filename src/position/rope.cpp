// Rotary position embedding (RoFormer, Su 2021, eq. 12-16 and 34): pairs of features of q and k are
// rotated by angles proportional to the position, so that scores depend on the distance. Section 9.
// Frequency scalings for longer texts are rope_scaling.h's.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <cmath>

#include "base/error.h"
#include "config/schemes/rope.h"
#include "position/rope_scaling.h"
#include "position/rotary_table.h"
#include "position/scheme.h"

namespace roformer {
namespace {

class Rope : public PositionScheme {
 public:
  explicit Rope(const SchemeInputs& in)
      : settings_(in.settings.of<RopeSettings>()), training_length_(in.shape.training_length) {}

  SchemeCapabilities capabilities() const override {
    // Angles change with the length, so cached keys must be rotated again.
    const bool by_length =
        settings_.scaling == RopeScaling::dynamic_ntk || settings_.scaling == RopeScaling::longrope;
    return {.cached_keys = by_length ? CachedKeys::unrotated : CachedKeys::rotated};
  }
  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    const std::int64_t longest = std::max(context.queries.largest(), context.keys.largest()) + 1;
    const ScaledFrequencies scaled = scaled_frequencies(
        settings_, rotary_width(settings_.fraction, width), training_length_, longest);
    const RotaryAngles angles{
        .frequencies = scaled.frequencies, .factor = scaled.factor, .layout = settings_.layout};
    const auto table = [&](const Positions& positions) {
      return tables_.at(context, positions.shifted(settings_.offset), angles);
    };
    return RotationPair{
        .query = table(context.queries), .key = table(context.keys), .value = settings_.value};
  }

  bool requires_cache_rebuild(std::int64_t before, std::int64_t after) const override {
    const std::int64_t shorter =
        settings_.original_length > 0 ? settings_.original_length : training_length_;
    return settings_.scaling == RopeScaling::longrope && before <= shorter && after > shorter;
  }

 private:
  RopeSettings settings_;
  std::int64_t training_length_;
  mutable RotaryTables tables_;
};

}  // namespace

std::unique_ptr<PositionScheme> make_rope(const SchemeInputs& inputs) {
  return std::make_unique<Rope>(inputs);
}

}  // namespace roformer
