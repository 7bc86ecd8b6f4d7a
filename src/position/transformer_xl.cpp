// Relative positions of Transformer-XL (Dai 2019, section 3.3): scores from the content, from a
// projected sinusoid of the distance, and from two global vectors u and w:
// S_ij = ((q_i + u).k_j + (q_i + w).(R_{i-j} W)) / sqrt(D). Section 4.

#include <algorithm>

#include "config/schemes/sinusoidal.h"
#include "config/schemes/transformer_xl.h"
#include "position/relative_index.h"
#include "position/scheme.h"
#include "position/sinusoidal.h"
#include "tensor/aten.h"
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

  SchemeCapabilities capabilities() const override {
    return {.scores = ContentScores::changed, .relative_form = true};
  }
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
    const DistanceRange range = visible_range(context);
    const ProjectedRows products =
        projected_rows((terms.query + own_w.unsqueeze(1)) * terms.scale,
                       distance_rows(range, layer.weight.options()), layer.weight);
    return add_relative_products({.scores = scores,
                                  .vectors = products.vectors,
                                  .table = products.table,
                                  .index = index_of(context, range)});
  }
  // (q + u).k + (q + w).R is q'.k + q'.R + (w - u).R with q' = q + u.
  RelativeForm relative_form(const AttentionContext& context) const override {
    const Layer& layer = layers_[static_cast<std::size_t>(context.layer)];
    const at::Tensor u = shared_parameter(context, 0, layer.u);
    const at::Tensor w = shared_parameter(context, 1, layer.w);
    const DistanceRange range = visible_range(context);
    const RelativeIndex index = index_of(context, range);
    const at::Tensor table =
        projected_table(distance_rows(range, layer.weight.options()), layer.weight, shape_.heads);
    const at::Tensor bias =
        at::matmul(table, ((w - u) * score_scale(shape_.head_width)).unsqueeze(-1)).squeeze(-1);
    // Future distances are hidden, so any number will do for them.
    const std::int64_t hidden = 2 * context.keys.count() - 1 - range.count;
    return {.terms = {{.table = table, .index = index}},
            .query_shift = u,
            .bias = at::constant_pad_nd(bias, {0, hidden})};
  }

 private:
  struct Layer {
    at::Tensor u, w;    // [H, D]
    at::Tensor weight;  // [H * D, M]
  };
  TransformerXlSettings settings_;
  ModelShape shape_;
  std::vector<Layer> layers_;
  mutable at::Tensor sinusoids_;  // [made_.count, M]
  mutable DistanceRange made_;

  // The distances that occur. A causal model hides the future, so they end at 0.
  static DistanceRange visible_range(const AttentionContext& context) {
    DistanceRange range = distance_range(context.queries, context.keys);
    const std::int64_t greatest = std::max<std::int64_t>(range.least, 0);
    if (context.causal) range.count = std::min(range.count, greatest - range.least + 1);
    return range;
  }
  static RelativeIndex index_of(const AttentionContext& context, const DistanceRange& range) {
    return relative_index(context.queries, context.keys, [&](std::int64_t distance) {
      return std::min(distance - range.least, range.count - 1);
    });
  }

  // R_{i-j} for the distances j - i of a range, [count, M], cached across layers and steps.
  // Decoding needs one more row per token, so the cache doubles when it grows.
  at::Tensor distance_rows(const DistanceRange& range, const at::TensorOptions& options) const {
    std::int64_t least = made_.least, end = made_.least + made_.count;
    if (made_.count == 0) least = end = range.least;
    if (range.least < least) least = std::min(range.least, 2 * least);
    if (range.least + range.count > end) end = std::max(range.least + range.count, 2 * end);
    const bool same = sinusoids_.defined() && sinusoids_.scalar_type() == options.dtype() &&
                      sinusoids_.device() == options.device();
    if (!same || least != made_.least || end - least != made_.count) {
      made_ = {.least = least, .count = end - least};
      sinusoids_ = on_device(sinusoids_of(made_), options);
    }
    keep_for_graph(sinusoids_);
    return sinusoids_.narrow(0, range.least - made_.least, range.count);
  }

  at::Tensor sinusoids_of(const DistanceRange& range) const {
    std::vector<std::int64_t> distances;
    for (std::int64_t n = 0; n < range.count; ++n) {
      const std::int64_t past = -(range.least + n);
      distances.push_back(settings_.clamp > 0 ? std::clamp(past, -settings_.clamp, settings_.clamp)
                                              : past);
    }
    return sinusoid_table(Positions::of(std::move(distances)), shape_.width, settings_.base,
                          SinusoidalLayout::concat);
  }
};

}  // namespace

std::unique_ptr<PositionScheme> make_transformer_xl(const SchemeInputs& inputs) {
  return std::make_unique<TransformerXl>(inputs);
}

}  // namespace roformer
