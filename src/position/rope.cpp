// Rotary position embedding (RoFormer, Su 2021, eq. 12-16 and 34): pairs of features of q and k are
// rotated by angles proportional to the position, so that scores depend on the distance. Section 9.
// Frequency scalings for longer texts are rope_scaling.h's.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "config/schemes/rope.h"
#include "position/rope_scaling.h"
#include "position/rotary_table.h"
#include "position/scheme.h"

namespace roformer {
namespace {

constexpr std::array<std::pair<const char*, RopeScaling>, 9> kScalings{
    {{"linear", RopeScaling::linear},
     {"ntk", RopeScaling::ntk},
     {"dynamic_ntk", RopeScaling::dynamic_ntk},
     {"yarn", RopeScaling::yarn},
     {"yarn_paper", RopeScaling::yarn_paper},
     {"llama3", RopeScaling::llama3},
     {"ntk_mixed", RopeScaling::ntk_mixed},
     {"p_rope", RopeScaling::p_rope},
     {"longrope", RopeScaling::longrope}}};

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
    return settings_.scaling == RopeScaling::longrope && before <= original_length() &&
           after > original_length();
  }

  // The chosen scaling beside plain RoPE; if none is chosen, all of them at eight times the length.
  std::optional<FrequencyPicture> frequency_picture(std::int64_t head_width) const override {
    const bool unscaled = settings_.scaling == RopeScaling::none;
    FrequencyPicture picture{.training_length = original_length()};
    const auto add = [&](const char* name, RopeScaling scaling) {
      RopeSettings rope = settings_;
      rope.scaling = scaling;
      if (unscaled) {
        rope.factor = scaling == RopeScaling::p_rope ? 1 : 8;
        rope.proportion = 0.75;
      }
      const auto longest =
          static_cast<std::int64_t>(rope.factor * static_cast<double>(original_length()));
      const std::int64_t width = rotary_width(rope.fraction, head_width);
      picture.variants.push_back(
          {name, scaled_frequencies(rope, width, original_length(), longest).frequencies});
    };
    add("rope", RopeScaling::none);
    for (const auto& [name, scaling] : kScalings) {
      // The lists of LongRoPE come with a model only.
      if ((unscaled && scaling != RopeScaling::longrope) || settings_.scaling == scaling) {
        add(name, scaling);
      }
    }
    // llama3 keeps the waves below its lower edge, stretches those above the upper edge and blends
    // between them.
    const auto trained = static_cast<double>(original_length());
    const bool apart = settings_.low_frequency_factor != 1;
    picture.marks = {{trained, apart ? "training length" : "training length, llama3's upper edge"},
                     {trained / settings_.high_frequency_factor, "llama3's lower edge"}};
    if (apart) {
      picture.marks.push_back({trained / settings_.low_frequency_factor, "llama3's upper edge"});
    }
    return picture;
  }

 private:
  RopeSettings settings_;
  std::int64_t training_length_;
  mutable RotaryTables tables_;

  std::int64_t original_length() const {
    return settings_.original_length > 0 ? settings_.original_length : training_length_;
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_rope(const SchemeInputs& inputs) {
  return std::make_unique<Rope>(inputs);
}

}  // namespace roformer
