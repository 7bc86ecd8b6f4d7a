#include "model/sub_layer.h"

namespace roformer {
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
    inner_ = add_linear(in.parameters, "feed_forward.inner",
                        {.out = is_gated(activation_) ? 2 * inner : inner,
                         .in = width,
                         .initialization = initialization,
                         .bias = in.model.bias});
    output_ = add_linear(
        in.parameters, "feed_forward.outer",
        {.out = width, .in = inner, .initialization = initialization, .bias = in.model.bias});
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
