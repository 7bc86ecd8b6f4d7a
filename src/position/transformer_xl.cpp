// Relative positions of Transformer-XL (Dai 2019, section 3.3): scores from the content, from a
// projected sinusoid of the distance, and from two global vectors u and w:
// S_ij = ((q_i + u).k_j + (q_i + w).(R_{i-j} W)) / sqrt(D). Section 4.
#include <ATen/TensorOperators.h>
#include <ATen/ops/matmul.h>

#include <algorithm>

#include "config/schemes/sinusoidal.h"
#include "config/schemes/transformer_xl.h"
#include "position/relative_index.h"
#include "position/scheme.h"
#include "position/sinusoid.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

constexpr double kDeviation = 0.02;

class TransformerXl : public PositionScheme {
 public:
  explicit TransformerXl(const SchemeInputs& in)
      : settings_(in.settings.of<TransformerXlSettings>()), shape_(in.shape) {
    const auto vectors = [&](const std::string& name, int depth) {
      return in.parameters.add({.name = name,
                                .shape = {shape_.heads, shape_.head_width},
                                .initial = normal(kDeviation),
                                .decay = false,
                                .depth = depth});
    };
    if (!settings_.untie) {
      layers_.push_back({vectors("position.u", 0), vectors("position.w", 0), {}});
    }
    for (std::int64_t i = 0; i < shape_.layers; ++i) {
      const int depth = static_cast<int>(i) + 1;
      Layer layer = settings_.untie ? Layer{vectors(layer_parameter(i, "u"), depth),
                                            vectors(layer_parameter(i, "w"), depth),
                                            {}}
                                    : layers_.front();
      layer.weight = in.parameters.add({.name = layer_parameter(i, "weight"),
                                        .shape = {shape_.heads * shape_.head_width, shape_.width},
                                        .initial = normal(kDeviation),
                                        .depth = depth});
      layers_.push_back(layer);
    }
    if (!settings_.untie) layers_.erase(layers_.begin());
  }

  bool has_content_scores() const override { return true; }
  std::vector<at::Tensor> shared_parameters() const override {
    if (settings_.untie) return {};
    return {layers_.front().u, layers_.front().w};
  }
  at::Tensor scores(const AttentionContext& context, const ScoreTerms& terms) const override {
    const Layer& layer = layers_[static_cast<std::size_t>(context.layer)];
    const at::ScalarType type = terms.scores.scalar_type();
    const at::Tensor own_u = shared_parameter(context, 0, layer.u);
    const at::Tensor own_w = shared_parameter(context, 1, layer.w);
    const at::Tensor u = (own_u * terms.scale).unsqueeze(1).to(type);  // [H, 1, D]
    const at::Tensor scores =
        terms.scores.add_(at::matmul(u, terms.key.transpose(-2, -1).to(type)));
    // A causal model hides the future: its rows end at distance 0.
    DistanceRange range = distance_range(context.queries, context.keys);
    const std::int64_t greatest =
        context.causal ? std::max<std::int64_t>(range.least, 0) : range.least + range.count - 1;
    range.count = std::min(range.count, greatest - range.least + 1);
    return add_relative_products(
        {.scores = scores,
         .vectors = (terms.query + own_w.unsqueeze(1)) * terms.scale,
         .table = distance_rows(layer, range),
         .index = relative_index(context.queries, context.keys, [&](std::int64_t distance) {
           return std::min(distance, greatest) - range.least;
         })});
  }

 private:
  struct Layer {
    at::Tensor u, w;    // [H, D]
    at::Tensor weight;  // [H * D, M]
  };
  TransformerXlSettings settings_;
  ModelShape shape_;
  std::vector<Layer> layers_;

  // R_{i-j} W for the distances j - i of a range, [H, count, D].
  at::Tensor distance_rows(const Layer& layer, const DistanceRange& range) const {
    std::vector<std::int64_t> distances;
    for (std::int64_t n = 0; n < range.count; ++n) {
      const std::int64_t past = -(range.least + n);
      distances.push_back(settings_.clamp > 0 ? std::clamp(past, -settings_.clamp, settings_.clamp)
                                              : past);
    }
    const at::Tensor table = sinusoid_table(Positions::of(std::move(distances)), shape_.width,
                                            settings_.base, SinusoidalLayout::concat);
    return at::matmul(on_device(table, layer.weight.options()), layer.weight.t())
        .view({range.count, shape_.heads, shape_.head_width})
        .transpose(0, 1);
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_transformer_xl(const SchemeInputs& inputs) {
  return std::make_unique<TransformerXl>(inputs);
}

}  // namespace roformer
