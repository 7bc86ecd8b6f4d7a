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
        attention_dropout_(attention_dropout) {
    const std::int64_t width = in.model.width;
    const double initialization = in.model.initialization;
    query_key_value_ =
        add_linear(in.parameters, "attention.query_key_value",
                   {.out = 3 * width, .in = width, .initialization = initialization});
    output_ = add_linear(in.parameters, "attention.output",
                         {.out = width, .in = width, .initialization = initialization});
    norm_ = add_norm(in.parameters, "attention.norm", width);
  }

  bool mixes_tokens() const override { return true; }
  at::Tensor forward(const at::Tensor& input, const StackPass& pass) const override {
    const at::Tensor& weight = query_key_value_.weight;
    const std::int64_t width = weight.size(1);
    const SelfAttentionInputs inputs{
        .projected = project(input, weight),
        .bias = query_key_value_.bias,
        .layout = pass.layout,
        .heads = heads_,
        .layer = layer(),
        .projections = {.query_weight = weight.narrow(0, 0, width),
                        .key_weight = weight.narrow(0, width, width)},
        .dropout = dropout_at(pass, kProbabilities, attention_dropout_),
        .input = input};
    return pass.cache != nullptr ? cached_self_attention(inputs, pass.session, *pass.cache)
                                 : self_attention(inputs, pass.session);
  }

 private:
  std::int64_t heads_;
  double attention_dropout_;
  Linear query_key_value_;  // [3M, M]
};

}  // namespace

std::unique_ptr<SubLayer> make_self_attention(const SubLayerInputs& inputs,
                                              double attention_dropout) {
  return std::make_unique<SelfAttention>(inputs, attention_dropout);
}

}  // namespace roformer
