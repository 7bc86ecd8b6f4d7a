#include "model/language_head.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/zeros.h>

namespace roformer {

LanguageHead::LanguageHead(const TransformerStack& stack, ParameterStore& parameters)
    : model_(stack.settings().model), table_(stack.embedding().table()) {
  const std::int64_t narrow = stack.embedding().width();
  const bool transforms = model_.head == LanguageHeadKind::bert;
  const ParameterScope scope =
      ParameterScope(parameters).within("head.", static_cast<int>(model_.layers) + 1);
  if (transforms) {
    dense_ = add_linear(scope, "dense",
                        {.out = narrow,
                         .in = model_.width,
                         .initialization = model_.initialization,
                         .bias = model_.bias});
    norm_ = add_norm(scope, "norm", narrow, model_);
  }
  if (!model_.tie_output) {
    table_ = scope.add({.name = "decoder.weight",
                        .shape = {model_.vocabulary, transforms ? narrow : model_.width},
                        .initial = truncated_normal(model_.initialization)});
  }
  bias_ = transforms ? scope.add({.name = "decoder.bias",
                                  .shape = {model_.vocabulary},
                                  .initial = zeros(),
                                  .decay = false})
                     : at::zeros({model_.vocabulary}, table_.options());
}

at::Tensor LanguageHead::transform(const at::Tensor& states) const {
  if (!dense_.weight.defined()) return states;
  return residual_norm({.residual = bias_activation(project(states, dense_.weight), dense_.bias,
                                                    without_gate(model_.activation)),
                        .gain = norm_.gain,
                        .shift = norm_.shift,
                        .norm = norm_.kind,
                        .epsilon = model_.norm_epsilon})
      .normed;
}

CrossEntropy LanguageHead::loss(const at::Tensor& states, const at::Tensor& labels) const {
  return linear_cross_entropy(transform(states), table_, bias_, labels);
}

at::Tensor LanguageHead::logits(const at::Tensor& states) const {
  const at::Tensor hidden = transform(states).to(table_.scalar_type());
  return project(hidden, table_) + bias_;
}

}  // namespace roformer
