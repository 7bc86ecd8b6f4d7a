// Data-adaptive positional encoding (DAPE, Zheng 2024, arXiv:2405.14722): a small network reads the
// scores and the biases of all heads at a pair and adds to both; DAPE V2 (arXiv:2410.04798) reads
// neighbouring keys too, by two convolutions. Section 20.
#include "config/schemes/dape.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log1p.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <vector>

#include "position/alibi.h"
#include "position/constant_bias.h"
#include "position/relative_index.h"
#include "position/replaced_scores.h"
#include "position/rotary_table.h"
#include "position/scheme.h"
#include "position/score_network.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

constexpr double kLeastKernel = 0.01;  // of r1 and r2, as KERPLE's authors clamp them

class Dape : public PositionScheme {
 public:
  explicit Dape(const SchemeInputs& in)
      : settings_(in.settings.of<DapeSettings>()), slopes_(alibi_slopes(in.shape.heads)) {
    for (std::int64_t layer = 0; layer < in.shape.layers; ++layer) add_layer(in, layer);
  }

  SchemeCapabilities capabilities() const override {
    // The second convolution reads the hidden layer right of the diagonal, where there are keys.
    return {.scores = ContentScores::changed, .can_cache = settings_.kernel == 1};
  }
  std::optional<RotationPair> rotation(const AttentionContext& context,
                                       std::int64_t width) const override {
    if (settings_.kind != DapeKind::rope) return std::nullopt;
    return tables_.pair(context, {.frequencies = rotary_frequencies(width, settings_.base),
                                  .layout = RotaryLayout::half});
  }

  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    const Layer& layer = layers_[static_cast<std::size_t>(context.layer)];
    const at::ScalarType type = terms.scores.scalar_type();
    const auto taps = [](const at::Tensor& weight) {
      return weight.dim() == 2 ? weight.unsqueeze(0) : weight;
    };
    at::Tensor bias;
    if (settings_.kind != DapeKind::rope) bias = bias_of_past(context, layer).to(type).squeeze(0);
    return with_score_network(
        {.scores = terms.scores,
         .bias = bias,
         .past = settings_.kernel > 1 ? on_device(past_of_pairs(context) >= 0, context.device)
                                      : at::Tensor(),
         .network = {.first_weight = taps(layer.network.first_weight).to(type),
                     .first_bias = layer.network.first_bias.to(type),
                     .second_weight = taps(layer.network.second_weight).to(type),
                     .second_bias = layer.network.second_bias.to(type),
                     .slope = settings_.slope}});
  }

 private:
  struct Layer {
    ScoreNetwork network;  // weights without the first dimension where it is 1
    at::Tensor r1, r2;     // [H] of kerple
  };
  DapeSettings settings_;
  std::vector<double> slopes_;
  std::vector<Layer> layers_;
  mutable ConstantBias constant_;
  mutable RotaryTables tables_;

  void add_layer(const SchemeInputs& in, std::int64_t layer) {
    const std::int64_t heads = in.shape.heads, width = settings_.width, taps = settings_.kernel;
    const std::int64_t channels = settings_.kind == DapeKind::rope ? heads : 2 * heads;
    const auto add = [&](const char* name, std::vector<std::int64_t> shape, std::int64_t inputs) {
      const double bound = 1 / std::sqrt(static_cast<double>(inputs));
      const bool weight = shape.size() > 1;
      return in.parameters.add({.name = layer_parameter(layer, name),
                                .shape = std::move(shape),
                                .initial = uniform(-bound, bound),
                                .decay = weight,
                                .depth = static_cast<int>(layer) + 1});
    };
    const auto shape = [&](std::int64_t from, std::int64_t to) {
      return taps == 1 ? std::vector<std::int64_t>{from, to}
                       : std::vector<std::int64_t>{taps, from, to};
    };
    Layer result;
    ScoreNetwork& net = result.network;
    net.first_weight = add("first.weight", shape(channels, width), taps * channels);
    net.first_bias = add("first.bias", {width}, taps * channels);
    net.second_weight = add("second.weight", shape(width, heads), taps * width);
    net.second_bias = add("second.bias", {heads}, taps * width);
    if (settings_.kind == DapeKind::kerple) {
      const auto add_kernel = [&](const char* name, double high) {
        return in.parameters.add(
            {.name = layer_parameter(layer, name),
             .shape = {heads},
             .initial = uniform(0, high),
             .decay = false,
             .depth = static_cast<int>(layer) + 1,
             .constraint = [](at::Tensor& values) { values.clamp_(kLeastKernel); }});
      };
      result.r1 = add_kernel("r1", 2);
      result.r2 = add_kernel("r2", 1);
    }
    layers_.push_back(std::move(result));
  }

  // [1, H, Lq, Lk], 0 for keys after the query.
  at::Tensor bias_of_past(const AttentionContext& context, const Layer& layer) const {
    const bool alibi = settings_.kind == DapeKind::alibi;
    const auto make = [&] {
      return bias_of_distance(context.queries, context.keys, [&](const at::Tensor& distances) {
        const auto options = at::TensorOptions().dtype(context.type).device(context.device);
        const at::Tensor past = on_device((-distances).clamp_min(0), options).unsqueeze(0);
        if (alibi) return past * -on_device(at::tensor(slopes_, at::kDouble), options).unsqueeze(1);
        return -layer.r1.unsqueeze(1) * at::log1p(layer.r2.unsqueeze(1) * past);
      });
    };
    return alibi ? constant_.get(context, make) : make();
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_dape(const SchemeInputs& inputs) {
  return std::make_unique<Dape>(inputs);
}

}  // namespace roformer
