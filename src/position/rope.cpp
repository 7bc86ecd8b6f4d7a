// Rotary position embedding (RoFormer, Su 2021, eq. 12-16 and 34): pairs of features of q and k are
// rotated by angles proportional to the position, so that scores depend on the distance. Section 9.
// With the frequency scalings for longer texts (section 10).
#include "position/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "config/schemes/rope.h"
#include "position/rotary_table.h"
#include "position/scheme.h"
#include "tensor/aten.h"

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
