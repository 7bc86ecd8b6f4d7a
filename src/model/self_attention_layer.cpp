#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>

#include "attention/self_attention.h"
#include "model/sub_layer.h"

namespace roformer {
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
    query_key_value_ = add_linear(in.parameters, "attention.query_key_value",
                                  {.out = (heads_ + 2 * key_value_heads_) * head_width_,
                                   .in = model.width,
                                   .initialization = model.initialization,
                                   .bias = model.bias || model.query_key_value_bias});
    if (model.query_key_norm) {
      query_gain_ = add_gain(in.parameters, "attention.query_norm.weight");
      key_gain_ = add_gain(in.parameters, "attention.key_norm.weight");
    }
    output_ = add_linear(in.parameters, "attention.output",
                         {.out = model.width,
                          .in = heads_ * head_width_,
                          .initialization = model.initialization,
                          .bias = model.bias});
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
    const at::Tensor& weight = query_key_value_.weight;
    const std::int64_t queries = heads_ * head_width_, keys = key_value_heads_ * head_width_;
    at::Tensor key = weight.narrow(0, queries, keys);
    if (keys != queries) {
      key = key.view({key_value_heads_, 1, head_width_, -1})
                .expand({-1, heads_ / key_value_heads_, -1, -1})
                .reshape({queries, -1});
    }
    return {.query_weight = weight.narrow(0, 0, queries), .key_weight = key};
  }
};

}  // namespace

std::unique_ptr<SubLayer> make_self_attention(const SubLayerInputs& inputs,
                                              double attention_dropout) {
  return std::make_unique<SelfAttention>(inputs, attention_dropout);
}

}  // namespace roformer
