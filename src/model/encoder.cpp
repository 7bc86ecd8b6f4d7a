#include "model/encoder.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/index_select.h>

#include <cmath>
#include <utility>

#include "attention/cached_attention.h"
#include "attention/self_attention.h"
#include "base/error.h"
#include "base/random.h"
#include "tensor/operations.h"

namespace roformer {
namespace {

ModelShape shape_of(const EncoderSettings& settings, at::ScalarType type) {
  return {.layers = settings.model.layers,
          .width = settings.model.embedding_width > 0 ? settings.model.embedding_width
                                                      : settings.model.width,
          .heads = settings.model.heads,
          .head_width = settings.model.width / settings.model.heads,
          .causal = settings.causal,
          .training_length = settings.training_length,
          .type = type};
}

// Rows [T, M] of the sequences' places from a table [L, M] for the longest.
at::Tensor spread(const at::Tensor& table, const TokenLayout& layout) {
  std::vector<at::Tensor> parts;
  for (const TokenBlock& block : layout.blocks) {
    parts.push_back(table.narrow(0, 0, block.length)
                        .unsqueeze(0)
                        .expand({block.sequences, block.length, table.size(1)})
                        .reshape({block.sequences * block.length, table.size(1)}));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts, 0);
}

Positions places_of(const EncoderInputs& in) {
  if (in.positions) return *in.positions;
  const bool begun = in.cache != nullptr && in.cache->length() > 0;
  return Positions::range(begun ? in.cache->positions().largest() + 1 : 0, in.layout.longest);
}

}  // namespace

std::int64_t Encoder::embedding_width() const {
  return settings_.model.embedding_width > 0 ? settings_.model.embedding_width
                                             : settings_.model.width;
}

Encoder::Encoder(EncoderSettings settings, ParameterStore& parameters)
    : settings_(std::move(settings)) {
  const ModelSettings& model = settings_.model;
  ROFORMER_ASSERT(model.vocabulary > 0 && model.width % model.heads == 0);
  const std::int64_t width = model.width, narrow = embedding_width();
  const auto matrix = [&](const std::string& name, std::int64_t out, std::int64_t in, int depth) {
    return parameters.add({.name = name + ".weight",
                           .shape = {out, in},
                           .initial = truncated_normal(model.initialization),
                           .depth = depth});
  };
  const auto bias = [&](const std::string& name, std::int64_t size, int depth) {
    return parameters.add({.name = name + ".bias",
                           .shape = {size},
                           .initial = zeros(),
                           .decay = false,
                           .depth = depth});
  };
  const auto norm = [&](const std::string& name, std::int64_t size, int depth) {
    return Norm{.gain = parameters.add({.name = name + ".weight",
                                        .shape = {size},
                                        .initial = ones(),
                                        .decay = false,
                                        .depth = depth}),
                .shift = bias(name, size, depth)};
  };
  tokens_ = matrix("embedding.tokens", model.vocabulary, narrow, 0);
  if (model.token_types > 0) types_ = matrix("embedding.types", model.token_types, narrow, 0);
  if (model.norm == NormPlacement::post) embedding_norm_ = norm("embedding.norm", narrow, 0);
  if (narrow != width) {
    embedding_projection_ = matrix("embedding.projection", width, narrow, 0);
    embedding_projection_bias_ = bias("embedding.projection", width, 0);
  }
  scheme_ = make_scheme({.settings = settings_.position,
                         .shape = shape_of(settings_, tokens_.scalar_type()),
                         .parameters = parameters});
  for (std::int64_t i = 0; i < model.layers; ++i) {
    const std::string prefix = "layers." + std::to_string(i) + ".";
    const int depth = static_cast<int>(i) + 1;
    Layer layer;
    layer.projection = matrix(prefix + "attention.query_key_value", 3 * width, width, depth);
    layer.projection_bias = bias(prefix + "attention.query_key_value", 3 * width, depth);
    layer.output = matrix(prefix + "attention.output", width, width, depth);
    layer.output_bias = bias(prefix + "attention.output", width, depth);
    layer.attention_norm = norm(prefix + "attention.norm", width, depth);
    layer.inner = matrix(prefix + "feed_forward.inner", model.feed_forward, width, depth);
    layer.inner_bias = bias(prefix + "feed_forward.inner", model.feed_forward, depth);
    layer.outer = matrix(prefix + "feed_forward.outer", width, model.feed_forward, depth);
    layer.outer_bias = bias(prefix + "feed_forward.outer", width, depth);
    layer.feed_forward_norm = norm(prefix + "feed_forward.norm", width, depth);
    layers_.push_back(std::move(layer));
  }
  if (model.norm == NormPlacement::pre) {
    final_norm_ = norm("final_norm", width, static_cast<int>(model.layers));
  }
}

at::Tensor Encoder::embed(const EncoderInputs& in, at::ScalarType type) const {
  const ModelSettings& model = settings_.model;
  at::Tensor sum = embedding_rows(tokens_, in.ids);
  if (model.embedding_scale == EmbeddingScale::sqrt_width) {
    sum = sum * std::sqrt(static_cast<double>(embedding_width()));
  }
  if (types_.defined()) {
    sum = sum + (in.token_types.defined() ? embedding_rows(types_, in.token_types)
                                          : types_.narrow(0, 0, 1));
  }
  if (const at::Tensor table = scheme_->embedding(places_of(in)); table.defined()) {
    sum = sum + spread(table.to(sum.device()), in.layout);
  }
  if (embedding_norm_.gain.defined()) {
    sum = residual_norm({.residual = sum,
                         .gain = embedding_norm_.gain,
                         .shift = embedding_norm_.shift,
                         .epsilon = model.norm_epsilon})
              .normed;
  }
  sum = sum.to(type);
  if (in.training) {
    sum = dropout(sum, {.probability = model.dropout, .key = random_key({in.dropout_key, 0})});
  }
  if (embedding_projection_.defined()) {
    sum = project(sum, embedding_projection_) + embedding_projection_bias_.to(type);
  }
  return sum;
}

at::Tensor Encoder::forward(const EncoderInputs& in) const {
  const ModelSettings& model = settings_.model;
  const at::ScalarType stored = tokens_.scalar_type();
  const at::ScalarType type = in.precision == Precision::bf16 ? at::kBFloat16 : stored;
  const bool pre = model.norm == NormPlacement::pre;
  PositionSession session({.scheme = *scheme_,
                           .attention = settings_.attention,
                           .positions = places_of(in),
                           .causal = settings_.causal,
                           .training = in.training,
                           .type = stored,
                           .device = tokens_.device(),
                           .feature_key = in.feature_key});
  const auto dropout_at = [&](std::int64_t layer, std::uint64_t site, double probability) {
    return DropoutSpec{
        .probability = in.training ? probability : 0,
        .key = random_key({in.dropout_key, static_cast<std::uint64_t>(layer) + 1, site})};
  };
  at::Tensor sum = embed(in, type);
  std::optional<CachedAttention> cached;
  if (in.cache != nullptr) {
    ROFORMER_ASSERT(settings_.causal && !in.training);
    cached.emplace(CachedAttentionInputs{.scheme = *scheme_,
                                         .attention = settings_.attention,
                                         .cache = *in.cache,
                                         .positions = places_of(in),
                                         .type = stored,
                                         .device = tokens_.device()});
  }
  const auto attend_to = [&](const SelfAttentionInputs& inputs) {
    return cached ? cached->attend(inputs) : self_attention(inputs, session);
  };
  // With pre-norm each residual_norm makes the next sub-layer's input; with post-norm its output.
  at::Tensor input = sum;
  if (pre && !layers_.empty()) {
    input = residual_norm({.residual = sum,
                           .gain = layers_[0].attention_norm.gain,
                           .shift = layers_[0].attention_norm.shift,
                           .epsilon = model.norm_epsilon})
                .normed;
  }
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const bool last = i + 1 == layers_.size();
    const auto index = static_cast<std::int64_t>(i);
    at::Tensor attended = attend_to(
        {.projected = project(input, layer.projection),
         .bias = layer.projection_bias,
         .layout = in.layout,
         .heads = model.heads,
         .layer = index,
         .projections = {.query_weight = layer.projection.narrow(0, 0, model.width),
                         .key_weight = layer.projection.narrow(0, model.width, model.width)},
         .dropout = dropout_at(index, 0, settings_.attention.dropout)});
    at::Tensor residual = pre ? sum : input;
    if (last && in.rows.defined()) {
      attended = at::index_select(attended, 0, in.rows);
      residual = at::index_select(residual, 0, in.rows);
    }
    const Norm& middle = pre ? layer.feed_forward_norm : layer.attention_norm;
    NormedSum state = residual_norm({.input = project(attended, layer.output),
                                     .bias = layer.output_bias,
                                     .residual = residual,
                                     .gain = middle.gain,
                                     .shift = middle.shift,
                                     .epsilon = model.norm_epsilon,
                                     .dropout = dropout_at(index, 1, model.dropout)});
    const at::Tensor inner =
        bias_activation(project(state.normed, layer.inner), layer.inner_bias, model.activation);
    const Norm& end = !pre   ? layer.feed_forward_norm
                      : last ? final_norm_
                             : layers_[i + 1].attention_norm;
    state = residual_norm({.input = project(inner, layer.outer),
                           .bias = layer.outer_bias,
                           .residual = pre ? state.sum : state.normed,
                           .gain = end.gain,
                           .shift = end.shift,
                           .epsilon = model.norm_epsilon,
                           .dropout = dropout_at(index, 2, model.dropout)});
    sum = state.sum;
    input = state.normed;
  }
  if (layers_.empty() && in.rows.defined()) return at::index_select(input, 0, in.places);
  return input;
}

}  // namespace roformer
