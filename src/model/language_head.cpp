#include "model/language_head.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/mm.h>

namespace roformer {

LanguageHead::LanguageHead(const TransformerStack& stack, ParameterStore& parameters)
    : model_(stack.settings().model), table_(stack.embedding().table()) {
  const std::int64_t narrow = stack.embedding().width();
  const int depth = static_cast<int>(model_.layers) + 1;
  const auto vector = [&](const std::string& name, std::int64_t size, Initializer initial) {
    return parameters.add({.name = name,
                           .shape = {size},
                           .initial = std::move(initial),
                           .decay = false,
                           .depth = depth});
  };
  dense_ = parameters.add({.name = "head.dense.weight",
                           .shape = {narrow, model_.width},
                           .initial = truncated_normal(model_.initialization),
                           .depth = depth});
  dense_bias_ = vector("head.dense.bias", narrow, zeros());
  gain_ = vector("head.norm.weight", narrow, ones());
  shift_ = vector("head.norm.bias", narrow, zeros());
  bias_ = vector("head.decoder.bias", model_.vocabulary, zeros());
}

at::Tensor LanguageHead::transform(const at::Tensor& states) const {
  return residual_norm(
             {.residual = bias_activation(project(states, dense_), dense_bias_, model_.activation),
              .gain = gain_,
              .shift = shift_,
              .epsilon = model_.norm_epsilon})
      .normed;
}

CrossEntropy LanguageHead::loss(const at::Tensor& states, const at::Tensor& labels) const {
  return linear_cross_entropy(transform(states), table_, bias_, labels);
}

at::Tensor LanguageHead::logits(const at::Tensor& states) const {
  const at::Tensor hidden = transform(states).to(table_.scalar_type());
  return at::mm(hidden, table_.t()) + bias_;
}

}  // namespace roformer
