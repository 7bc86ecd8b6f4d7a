// Fourier position embedding (FoPE, Hua 2024, arXiv:2412.17739): a pair of features rotates by a
// sum of many frequencies. The coefficients differ between heads and layers and are fixed at random
// or trained. Frequencies that complete no rotation within the training length are left out.
// Section 21.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "position/rotary_table.h"
#include "position/scheme_parts.h"
#include "tensor/aten.h"
#include "tensor/rotation.h"

namespace roformer {
namespace {

class Fope : public PositionScheme {
 public:
  explicit Fope(const SchemeInputs& in) : settings_(in.settings.of<FopeSettings>()) {
    frequencies_ = fope_frequencies(settings_, in.shape.head_width, in.shape.training_length);
    const auto frequencies = static_cast<std::int64_t>(frequencies_.size());
    const std::int64_t heads = in.shape.heads;
    const std::int64_t pairs = std::min(frequencies, in.shape.head_width / 4);
    const at::Tensor identity = fope_identity(frequencies, pairs).contiguous();
    // Xavier's normal distribution, with inputs and outputs counted as PyTorch does in a tensor
    // with three dimensions.
    const double deviation =
        settings_.gain * std::sqrt(2.0 / static_cast<double>((frequencies + heads) * pairs));
    const Initializer initial = [identity, deviation](std::span<float> values, Random& random) {
      const double* const eye = identity.const_data_ptr<double>();
      const auto count = static_cast<std::size_t>(identity.numel());
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(eye[i % count] + deviation * random.normal());
      }
    };
    for (std::int64_t layer = 0; layer < in.shape.layers; ++layer) {
      const auto add = [&](const char* name) {
        return add_layer_parameter(in, layer,
                                   {.name = name,
                                    .shape = {heads, frequencies, pairs},
                                    .initial = initial,
                                    .decay = false,
                                    .fixed = !settings_.trained});
      };
      const at::Tensor cosine = add("cosine");
      layers_.push_back({.cosine = cosine, .sine = add("sine")});
    }
  }

  SchemeCapabilities capabilities() const override { return {.transform = true}; }
  at::Tensor transformed(const AttentionContext& context, const at::Tensor& x,
                         TokenSide side) const override {
    const Positions& positions = side == TokenSide::query ? context.queries : context.keys;
    const Rotation waves =
        tables_.at(context, positions, {.frequencies = frequencies_});  // [L, frequencies]
    const Coefficients& layer = layers_[static_cast<std::size_t>(context.layer)];
    const std::int64_t rest = x.size(-1) / 2 - layer.cosine.size(2);
    const auto table = [&](const at::Tensor& wave, const at::Tensor& coefficients, double padding) {
      const at::Tensor sums = at::matmul(wave, coefficients);  // [H, L, pairs]
      const at::Tensor tail = at::full({sums.size(0), sums.size(1), rest}, padding, sums.options());
      return at::cat({sums, tail}, -1).unsqueeze(0);
    };
    return rotated_by_tables(x, {.cosine = table(waves.cosine, layer.cosine, 1),
                                 .sine = table(waves.sine, layer.sine, settings_.pad_sin),
                                 .layout = RotaryLayout::half});
  }

 private:
  struct Coefficients {
    at::Tensor cosine, sine;  // [H, frequencies, pairs]
  };
  FopeSettings settings_;
  std::vector<double> frequencies_;
  std::vector<Coefficients> layers_;
  mutable RotaryTables tables_;
};

}  // namespace

std::vector<double> fope_frequencies(const FopeSettings& settings, std::int64_t head_width,
                                     std::int64_t training_length) {
  const std::int64_t length =
      settings.training_length > 0 ? settings.training_length : training_length;
  const double floor = settings.floor_ratio * 2 * std::numbers::pi / static_cast<double>(length);
  std::vector<double> kept =
      rotary_frequencies(std::max(settings.fourier_dim, head_width), settings.base);
  std::erase_if(kept, [floor](double frequency) { return frequency < floor; });
  return kept;
}

at::Tensor fope_identity(std::int64_t frequencies, std::int64_t pairs) {
  at::Tensor identity = at::zeros({frequencies, pairs}, at::kDouble);
  const std::int64_t step = pairs > 0 ? (frequencies + pairs - 1) / pairs : 1;
  for (std::int64_t t = 0; t < pairs && t * step < frequencies; ++t) identity[t * step][t] = 1;
  return identity;
}

std::unique_ptr<PositionScheme> make_fope(const SchemeInputs& inputs) {
  return std::make_unique<Fope>(inputs);
}

}  // namespace roformer
