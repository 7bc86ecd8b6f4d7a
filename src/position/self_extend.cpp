// SelfExtend (Jin 2024, arXiv:2401.01325): beyond a window, rotary distances count groups of
// tokens, so that a text several times longer than in training stays within the trained distances.
// For models trained with rope. Section 25.
#include <vector>

#include "position/replaced_scores.h"
#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"

namespace roformer {
namespace {

// W - W/G: the shift of queries for far keys, so that distances continue from the window.
double group_shift(const SelfExtendSettings& settings) {
  const std::int64_t whole = settings.window / settings.group;
  const double share =
      settings.shift == SelfExtendShift::floor
          ? static_cast<double>(whole)
          : static_cast<double>(settings.window) / static_cast<double>(settings.group);
  return static_cast<double>(settings.window) - share;
}

class SelfExtend : public PositionScheme {
 public:
  explicit SelfExtend(const SchemeInputs& in) : settings_(in.settings.of<SelfExtendSettings>()) {}

  // The rotation of a key depends on its distance from the query.
  SchemeCapabilities capabilities() const override {
    return {.scores = ContentScores::changed, .cached_keys = CachedKeys::unrotated};
  }
  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    return tables_.pair(context, angles(width, 0));
  }

  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    const at::Tensor far = past_of_pairs(context) >= settings_.window;
    if (!far.any().item<bool>()) return terms.scores;
    const std::int64_t width = terms.raw_query.size(-1);
    const at::ScalarType type = terms.scores.scalar_type();
    const at::Tensor query = rotated(
        (terms.raw_query * terms.scale).to(type),
        tables_.at(context, groups(context.queries), angles(width, group_shift(settings_))));
    const at::Tensor key = rotated(terms.raw_key.to(type),
                                   tables_.at(context, groups(context.keys), angles(width, 0)));
    return replace_scores(terms.scores, query, key, far);
  }

 private:
  SelfExtendSettings settings_;
  mutable RotaryTables tables_;

  Positions groups(const Positions& positions) const {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < positions.count(); ++i) {
      values.push_back(positions[i] / settings_.group);
    }
    return Positions::of(std::move(values));
  }

  RotaryAngles angles(std::int64_t width, double shift) const {
    return {.frequencies = rotary_frequencies(width, settings_.base),
            .shift = shift,
            .layout = settings_.layout};
  }
};

}  // namespace

double self_extend_distance(std::int64_t i, std::int64_t j, const SelfExtendSettings& settings) {
  if (j > i) return 0;
  if (i - j < settings.window) return static_cast<double>(i - j);
  return static_cast<double>(i / settings.group - j / settings.group) + group_shift(settings);
}

std::unique_ptr<PositionScheme> make_self_extend(const SchemeInputs& inputs) {
  return std::make_unique<SelfExtend>(inputs);
}

}  // namespace roformer
