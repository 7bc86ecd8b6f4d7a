// ReRoPE and Leaky ReRoPE (Su, kexue.fm/archives/9708): beyond a window, rotary distances stop
// growing or grow more slowly. Near scores are RoPE's; far scores come from a second rotation of
// the raw q and k. Section 11.
#include <cmath>

#include "position/replaced_scores.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

class Rerope : public PositionScheme {
 public:
  explicit Rerope(const SchemeInputs& in) : settings_(in.settings.of<ReropeSettings>()) {}

  // The rotation of a key depends on its distance from the query.
  SchemeCapabilities capabilities() const override {
    return {.scores = ContentScores::changed, .cached_keys = CachedKeys::unrotated};
  }
  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    return tables_.pair(context, angles(width, 1, 0));
  }

  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    const std::int64_t width = terms.raw_query.size(-1);
    const at::ScalarType type = terms.scores.scalar_type();
    const at::Tensor past = past_of_pairs(context);
    const double rate = settings_.leak > 0 ? 1 / settings_.leak : 0;
    const double shift = static_cast<double>(settings_.window) * (1 - rate);
    const at::Tensor key =
        rotated(terms.raw_key.to(type), tables_.at(context, context.keys, angles(width, rate, 0)));
    at::Tensor scores = terms.scores;
    const auto replace = [&](const at::Tensor& far, double sign) {
      if (!far.any().item<bool>()) return;
      const at::Tensor query =
          rotated((terms.raw_query * terms.scale).to(type),
                  tables_.at(context, context.queries, angles(width, rate, sign * shift)));
      scores = replace_scores(scores, query, key, far);
    };
    replace(past >= settings_.window, 1);
    if (!context.causal) replace(past <= -settings_.window, -1);
    return scores;
  }

 private:
  ReropeSettings settings_;
  mutable RotaryTables tables_;

  RotaryAngles angles(std::int64_t width, double stride, double shift) const {
    return {.frequencies = rotary_frequencies(width, settings_.base),
            .stride = stride,
            .shift = shift,
            .layout = settings_.layout};
  }
};

}  // namespace

double rerope_distance(double past, const ReropeSettings& settings) {
  const auto window = static_cast<double>(settings.window);
  const double distance = std::abs(past);
  if (distance < window) return past;
  const double beyond = settings.leak > 0 ? (distance - window) / settings.leak : 0;
  return std::copysign(window + beyond, past);
}

std::unique_ptr<PositionScheme> make_rerope(const SchemeInputs& inputs) {
  return std::make_unique<Rerope>(inputs);
}

}  // namespace roformer
