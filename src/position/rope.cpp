// Rotary position embedding (RoFormer, Su 2021, eq. 12-16 and 34): rotates pairs of features of q
// and k by angles proportional to the position, so that scores depend on the distance. Frequency
// scalings adapt it to longer texts. Sections 9 and 10 of tests/position/golden/POSITIONS.md.
#include "position/rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/error.h"
#include "position/rotary_table.h"
#include "position/scheme.h"
#include "tensor/aten.h"

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

  // Shows the chosen scaling beside plain RoPE, or all scalings at eight times the length if none
  // is chosen.
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
      // The lists of LongRoPE exist only for models that define them.
      if ((unscaled && scaling != RopeScaling::longrope) || settings_.scaling == scaling) {
        add(name, scaling);
      }
    }
    // llama3 keeps the wavelengths below its lower edge, stretches those above the upper edge and
    // blends between the edges.
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

namespace {

constexpr double kFullRotation = 2 * std::numbers::pi;

struct Inputs {
  const RopeSettings& settings;
  double width;            // r
  double original_length;  // L0
  double length;           // n
};

// 1 where a pair keeps its frequency, 0 where it is divided by the factor (YaRN, Definition 2).
double yarn_share(const Inputs& in, double pair, double frequency) {
  if (in.settings.scaling == RopeScaling::yarn_paper) {
    const double rotations = in.original_length * frequency / kFullRotation;
    return std::clamp(
        (rotations - in.settings.beta_slow) / (in.settings.beta_fast - in.settings.beta_slow), 0.0,
        1.0);
  }
  const auto pair_of_rotations = [&](double rotations) {
    return in.width * std::log(in.original_length / (kFullRotation * rotations)) /
           (2 * std::log(in.settings.base));
  };
  const double low = std::max(std::floor(pair_of_rotations(in.settings.beta_fast)), 0.0);
  double high = std::min(std::ceil(pair_of_rotations(in.settings.beta_slow)), in.width - 1);
  if (low == high) high += 0.001;
  return 1 - std::clamp((pair - low) / (high - low), 0.0, 1.0);
}

double llama3(const Inputs& in, double frequency) {
  const double wavelength = kFullRotation / frequency;
  const double low = in.settings.low_frequency_factor, high = in.settings.high_frequency_factor;
  if (wavelength < in.original_length / high) return frequency;
  if (wavelength > in.original_length / low) return frequency / in.settings.factor;
  const double share = (in.original_length / wavelength - low) / (high - low);
  return ((1 - share) / in.settings.factor + share) * frequency;
}

}  // namespace

ScaledFrequencies scaled_frequencies(const RopeSettings& settings, std::int64_t width,
                                     std::int64_t training_length, std::int64_t length) {
  const double s = settings.factor;
  const Inputs in{.settings = settings,
                  .width = static_cast<double>(width),
                  .original_length = static_cast<double>(
                      settings.original_length > 0 ? settings.original_length : training_length),
                  .length = static_cast<double>(length)};
  double base = settings.base;
  const double exponent = in.width / (in.width - 2);
  if (settings.scaling == RopeScaling::ntk) base *= std::pow(s, exponent);
  if (settings.scaling == RopeScaling::dynamic_ntk) {
    const double n = std::max(in.length, in.original_length);
    base *= std::pow(s * n / in.original_length - (s - 1), exponent);
  }
  ScaledFrequencies result{.frequencies = rotary_frequencies(width, base)};
  for (std::size_t i = 0; i < result.frequencies.size(); ++i) {
    double& frequency = result.frequencies[i];
    const auto pair = static_cast<double>(i);
    switch (settings.scaling) {
      case RopeScaling::none:
      case RopeScaling::ntk:
      case RopeScaling::dynamic_ntk:
        break;
      case RopeScaling::linear:
        frequency /= s;
        break;
      case RopeScaling::yarn:
      case RopeScaling::yarn_paper: {
        const double kept = yarn_share(in, pair, frequency);
        frequency = (1 - kept) * frequency / s + kept * frequency;
        break;
      }
      case RopeScaling::llama3:
        frequency = llama3(in, frequency);
        break;
      case RopeScaling::longrope: {
        const std::vector<double>& factors =
            in.length > in.original_length ? settings.long_factor : settings.short_factor;
        ROFORMER_ASSERT(i < factors.size());
        frequency /= factors[i];
        break;
      }
      case RopeScaling::p_rope:
        frequency = pair < std::floor(settings.proportion * in.width / 2) ? frequency / s : 0;
        break;
      case RopeScaling::ntk_mixed: {
        const double a = std::log(s) / std::pow(in.width / 2, settings.mixed_exponent);
        frequency *= std::exp(-a * std::pow(pair + 1, settings.mixed_exponent));
        break;
      }
    }
  }
  const bool yarn =
      settings.scaling == RopeScaling::yarn || settings.scaling == RopeScaling::yarn_paper;
  if (yarn && s > 1) result.factor = 0.1 * std::log(s) + 1;
  if (settings.scaling == RopeScaling::longrope && s > 1) {
    result.factor = std::sqrt(1 + std::log(s) / std::log(in.original_length));
  }
  if (settings.attention_factor > 0) result.factor = settings.attention_factor;
  return result;
}

}  // namespace roformer
