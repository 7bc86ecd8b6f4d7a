#include "model/sub_layer.h"

#include <c10/core/GradMode.h>

#include <numeric>

#include "attention/self_attention.h"
#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

at::Tensor add_vector(const ParameterScope& scope, const std::string& name, std::int64_t size,
                      Initializer initial) {
  return scope.add({.name = name, .shape = {size}, .initial = std::move(initial), .decay = false});
}

}  // namespace

Linear add_linear(const ParameterScope& scope, const std::string& name, const LinearShape& shape) {
  Linear result{.weight = scope.add({.name = name + ".weight",
                                     .shape = {shape.out, shape.in},
                                     .initial = truncated_normal(shape.initialization),
                                     .projects = true,
                                     .matrices = shape.matrices})};
  if (shape.bias) result.bias = add_vector(scope, name + ".bias", shape.out, zeros());
  return result;
}

at::Tensor apply(const Linear& linear, const at::Tensor& x) {
  at::Tensor product = project(x, linear.weight);
  if (!linear.bias.defined()) return product;
  const at::Tensor bias = linear.bias.to(x.scalar_type());
  return c10::GradMode::is_enabled() ? product + bias : product.add_(bias);
}

Norm add_norm(const ParameterScope& scope, const std::string& name, std::int64_t size,
              const ModelSettings& model) {
  Norm result{.gain = add_vector(scope, name + ".weight", size, ones()), .kind = model.norm_kind};
  if (model.bias) result.shift = add_vector(scope, name + ".bias", size, zeros());
  return result;
}

DropoutSpec SubLayer::dropout_at(const StackPass& pass, Site site, double probability) const {
  return {.probability = pass.training ? probability : 0,
          .key = dropout_key({pass.dropout_key, static_cast<std::uint64_t>(role_.layer) + 1,
                              static_cast<std::uint64_t>(site)}),
          .first_row = pass.first_row};
}

std::string SubLayer::title() const {
  const char* const kind = role_.residual == kAttention        ? "attention"
                           : role_.residual == kCrossAttention ? "cross_attention"
                                                               : "feed_forward";
  return role_.prefix + kind;
}

DropoutSpec SubLayer::residual_dropout(const StackPass& pass) const {
  return dropout_at(pass, role_.residual, role_.dropout);
}

namespace {

class SelfAttention : public SubLayer {
 public:
  SelfAttention(const SubLayerInputs& in, double attention_dropout)
      : SubLayer({.layer = in.layer,
                  .residual = kAttention,
                  .dropout = in.model.dropout,
                  .prefix = in.parameters.prefix()}),
        heads_(in.model.heads),
        key_value_heads_(in.model.heads_of_keys()),
        head_width_(in.model.features_of_head()),
        norm_epsilon_(in.model.norm_epsilon),
        attention_dropout_(attention_dropout) {
    const ModelSettings& model = in.model;
    query_key_value_ =
        add_linear(in.parameters, "attention.query_key_value",
                   {.out = (heads_ + 2 * key_value_heads_) * head_width_,
                    .in = model.width,
                    .initialization = model.initialization,
                    .bias = model.bias || model.query_key_value_bias,
                    .matrices = {heads_ * head_width_, key_value_heads_ * head_width_,
                                 key_value_heads_ * head_width_}});
    if (model.query_key_norm) {
      query_gain_ = add_gain(in.parameters, "attention.query_norm.weight");
      key_gain_ = add_gain(in.parameters, "attention.key_norm.weight");
    }
    output_ = add_linear(in.parameters, "attention.output",
                         {.out = model.width,
                          .in = heads_ * head_width_,
                          .initialization = model.initialization,
                          .bias = model.bias || model.attention_output_bias,
                          .matrices = {model.width}});
    if (in.layer > 0 || model.first_norm) {
      norm_ = add_norm(in.parameters, "attention.norm", model.width, model);
    }
  }

  bool mixes_tokens() const override { return true; }
  at::Tensor forward(const at::Tensor& input, const StackPass& pass) const override {
    const bool norms = query_gain_.defined();
    const SelfAttentionInputs inputs{
        .projected = norms ? normed(apply(query_key_value_, input))
                           : project(input, query_key_value_.weight),
        .bias = norms ? at::Tensor() : query_key_value_.bias,
        .layout = pass.layout,
        .heads = heads_,
        .key_value_heads = key_value_heads_,
        .layer = layer(),
        .projections = projections(),
        .dropout = dropout_at(pass, kProbabilities, attention_dropout_),
        .input = input,
        .observer = pass.observer};
    return pass.cache != nullptr ? cached_self_attention(inputs, pass.session, *pass.cache)
                                 : self_attention(inputs, pass.session);
  }

 private:
  std::int64_t heads_, key_value_heads_, head_width_;
  double norm_epsilon_, attention_dropout_;
  Linear query_key_value_;            // [(H + 2G) * D, M]
  at::Tensor query_gain_, key_gain_;  // [D] of the norms of queries and keys; undefined: none

  at::Tensor add_gain(const ParameterScope& scope, const std::string& name) const {
    return scope.add({.name = name, .shape = {head_width_}, .initial = ones(), .decay = false});
  }

  // q, k, v [T, (H + 2G) * D] with each head of q and k under its norm.
  at::Tensor normed(const at::Tensor& packed) const {
    const std::int64_t tokens = packed.size(0), keys = key_value_heads_ * head_width_;
    const auto parts = packed.split_with_sizes({heads_ * head_width_, keys, keys}, 1);
    const auto norm = [&](const at::Tensor& part, const at::Tensor& gain) {
      return residual_norm({.residual = part.reshape({-1, head_width_}),
                            .gain = gain,
                            .norm = NormKind::rms_norm,
                            .epsilon = norm_epsilon_})
          .normed.view({tokens, -1});
    };
    return at::cat({norm(parts[0], query_gain_), norm(parts[1], key_gain_), parts[2]}, 1);
  }

  // Repeats each key head for the query heads that it serves.
  LayerProjections projections() const {
    const auto& [weight, bias] = query_key_value_;
    const std::int64_t queries = heads_ * head_width_, keys = key_value_heads_ * head_width_;
    const auto key_rows = [&](const at::Tensor& all) {
      const at::Tensor key = all.narrow(0, queries, keys);
      if (keys == queries) return key;
      std::vector<std::int64_t> shape = all.sizes().vec();
      shape[0] = queries;
      return key.view({key_value_heads_, 1, head_width_, -1})
          .expand({-1, heads_ / key_value_heads_, -1, -1})
          .reshape(shape);
    };
    LayerProjections result{.query_weight = weight.narrow(0, 0, queries),
                            .key_weight = key_rows(weight)};
    if (bias.defined()) {
      result.query_bias = bias.narrow(0, 0, queries);
      result.key_bias = key_rows(bias);
    }
    return result;
  }
};

}  // namespace

std::unique_ptr<SubLayer> make_self_attention(const SubLayerInputs& inputs,
                                              double attention_dropout) {
  return std::make_unique<SelfAttention>(inputs, attention_dropout);
}

CrossAttention::CrossAttention(const SubLayerInputs& in, const PositionScheme& scheme,
                               double attention_dropout)
    : SubLayer({.layer = in.layer,
                .residual = kCrossAttention,
                .dropout = in.model.dropout,
                .prefix = in.parameters.prefix()}),
      heads_(in.model.heads),
      attention_dropout_(attention_dropout),
      scheme_(scheme) {
  const std::int64_t width = in.model.width, inner = heads_ * in.model.features_of_head();
  const auto add = [&](const char* name, std::vector<std::int64_t> matrices, std::int64_t from) {
    return add_linear(in.parameters, name,
                      {.out = std::accumulate(matrices.begin(), matrices.end(), std::int64_t{0}),
                       .in = from,
                       .initialization = in.model.initialization,
                       .bias = in.model.bias,
                       .matrices = matrices});
  };
  query_ = add("cross_attention.query", {inner}, width);
  key_value_ = add("cross_attention.key_value", {inner, inner}, width);
  output_ = add("cross_attention.output", {width}, inner);
  norm_ = add_norm(in.parameters, "cross_attention.norm", width, in.model);
}

void CrossAttention::remember(const at::Tensor& states, CrossMemory& memory) const {
  memory.add_layer(apply(key_value_, states), heads_, scheme_, query_.weight.scalar_type());
}

at::Tensor CrossAttention::forward(const at::Tensor& input, const StackPass& pass) const {
  ROFORMER_ASSERT(pass.memory != nullptr);
  DropoutSpec dropout = dropout_at(pass, kCrossProbabilities, attention_dropout_);
  // How sequences are padded depends on their neighbours, so a part of a batch cannot draw what the
  // whole draws; it draws other numbers than the parts before it.
  dropout.first_row <<= 20;
  const CrossAttentionInputs inputs{.query = apply(query_, input),
                                    .heads = heads_,
                                    .layer = layer(),
                                    .scheme = scheme_,
                                    .positions = pass.positions,
                                    .training = pass.training,
                                    .type = pass.type,
                                    .dropout = dropout,
                                    .exact_gradient = pass.session.exact_gradient()};
  if (pass.cross_request != nullptr && pass.cross_request->layer == layer()) {
    pass.cross_request->probabilities = pass.memory->mean_probabilities(inputs);
  }
  return pass.memory->attend(inputs);
}

namespace {

class FeedForward : public SubLayer {
 public:
  FeedForward(const SubLayerInputs& in, double activation_dropout)
      : SubLayer({.layer = in.layer,
                  .residual = kFeedForward,
                  .dropout = in.model.dropout,
                  .prefix = in.parameters.prefix()}),
        activation_(in.model.activation),
        activation_dropout_(activation_dropout) {
    const std::int64_t width = in.model.width, inner = in.model.feed_forward;
    const double initialization = in.model.initialization;
    const bool bias = in.model.bias || in.model.feed_forward_bias;
    const std::vector<std::int64_t> matrices(is_gated(activation_) ? 2 : 1, inner);
    inner_ = add_linear(in.parameters, "feed_forward.inner",
                        {.out = inner * std::ssize(matrices),
                         .in = width,
                         .initialization = initialization,
                         .bias = bias,
                         .matrices = matrices});
    output_ = add_linear(in.parameters, "feed_forward.outer",
                         {.out = width,
                          .in = inner,
                          .initialization = initialization,
                          .bias = bias,
                          .matrices = {width}});
    norm_ = add_norm(in.parameters, "feed_forward.norm", width, in.model);
  }

  bool mixes_tokens() const override { return false; }
  at::Tensor forward(const at::Tensor& input, const StackPass& pass) const override {
    const at::Tensor product = project(input, inner_.weight);
    const at::Tensor inner = is_gated(activation_)
                                 ? gated_activation(product, inner_.bias, activation_)
                                 : bias_activation(product, inner_.bias, activation_);
    return dropout(inner, dropout_at(pass, kActivations, activation_dropout_));
  }

 private:
  ActivationKind activation_;
  double activation_dropout_;
  Linear inner_;  // [F, M]; gated [2F, M], what the activation is of before the factors
};

}  // namespace

std::unique_ptr<SubLayer> make_feed_forward(const SubLayerInputs& inputs,
                                            double activation_dropout) {
  return std::make_unique<FeedForward>(inputs, activation_dropout);
}

}  // namespace roformer
