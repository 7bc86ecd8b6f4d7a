#include "base/error.h"
#include "model/sub_layer.h"

namespace roformer {

CrossAttention::CrossAttention(const SubLayerInputs& in, const PositionScheme& scheme,
                               double attention_dropout)
    : SubLayer({.layer = in.layer,
                .residual = kCrossAttention,
                .dropout = in.model.dropout,
                .prefix = in.parameters.prefix()}),
      heads_(in.model.heads),
      attention_dropout_(attention_dropout),
      scheme_(scheme) {
  const std::int64_t width = in.model.width;
  const auto add = [&](const char* name, std::int64_t out) {
    return add_linear(in.parameters, name,
                      {.out = out,
                       .in = width,
                       .initialization = in.model.initialization,
                       .bias = in.model.bias});
  };
  query_ = add("cross_attention.query", width);
  key_value_ = add("cross_attention.key_value", 2 * width);
  output_ = add("cross_attention.output", width);
  norm_ = add_norm(in.parameters, "cross_attention.norm", width, in.model);
}

void CrossAttention::remember(const at::Tensor& states, CrossMemory& memory) const {
  memory.add_layer(apply(key_value_, states), heads_, scheme_, query_.weight.scalar_type());
}

at::Tensor CrossAttention::forward(const at::Tensor& input, const StackPass& pass) const {
  ROFORMER_ASSERT(pass.memory != nullptr);
  const CrossAttentionInputs inputs{
      .query = apply(query_, input),
      .heads = heads_,
      .layer = layer(),
      .scheme = scheme_,
      .positions = pass.positions,
      .training = pass.training,
      .type = pass.type,
      .dropout = dropout_at(pass, kCrossProbabilities, attention_dropout_)};
  if (pass.cross_request != nullptr && pass.cross_request->layer == layer()) {
    pass.cross_request->probabilities = pass.memory->mean_probabilities(inputs);
  }
  return pass.memory->attend(inputs);
}

}  // namespace roformer
