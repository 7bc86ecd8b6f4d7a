#include "model/heads.h"

#include <string>

#include "tensor/aten.h"
#include "tensor/on_device.h"

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

namespace {

// The names of the head's first and last layer among the parameters.
std::string dense_name(ClassifierHead kind) {
  if (kind == ClassifierHead::modernbert) return "head.dense";
  return kind == ClassifierHead::roformer ? "classifier.dense" : "pooler";
}

std::string output_name(ClassifierHead kind) {
  return kind == ClassifierHead::roformer ? "classifier.output" : "classifier";
}

}  // namespace

ClassificationHead::ClassificationHead(const ClassificationHeadSettings& settings,
                                       const TransformerStack& stack, ParameterStore& parameters)
    : settings_(settings),
      activation_(without_gate(stack.settings().model.activation)),
      norm_epsilon_(stack.settings().model.norm_epsilon) {
  const ModelSettings& model = stack.settings().model;
  const bool modernbert = settings.kind == ClassifierHead::modernbert;
  const ParameterScope scope =
      ParameterScope(parameters).within("", static_cast<int>(model.layers) + 1);
  if (settings.kind != ClassifierHead::linear) {
    dense_ = add_linear(scope, dense_name(settings.kind),
                        {.out = model.width,
                         .in = model.width,
                         .initialization = model.initialization,
                         .bias = !modernbert || model.bias});
  }
  if (modernbert) norm_ = add_norm(scope, "head.norm", model.width, model);
  output_ = add_linear(
      scope, output_name(settings.kind),
      {.out = settings.outputs, .in = model.width, .initialization = model.initialization});
}

at::Tensor ClassificationHead::drop(const at::Tensor& x, const Mode& mode,
                                    std::uint64_t site) const {
  if (!mode.training) return x;
  return dropout(x, {.probability = settings_.dropout,
                     .key = dropout_key({mode.key, site}),
                     .first_row = mode.first_row});
}

at::Tensor ClassificationHead::transform(const at::Tensor& states, const Mode& mode) const {
  switch (settings_.kind) {
    case ClassifierHead::bert:
      return at::tanh(project(states, dense_.weight) + dense_.bias);
    case ClassifierHead::roberta:
      return at::tanh(project(drop(states, mode, 0), dense_.weight) + dense_.bias);
    case ClassifierHead::distilbert:
      return bias_activation(project(states, dense_.weight), dense_.bias, ActivationKind::relu);
    case ClassifierHead::roformer:
      return bias_activation(project(drop(states, mode, 0), dense_.weight), dense_.bias,
                             activation_);
    case ClassifierHead::modernbert:
      return residual_norm({.residual = bias_activation(project(states, dense_.weight), dense_.bias,
                                                        activation_),
                            .gain = norm_.gain,
                            .shift = norm_.shift,
                            .norm = norm_.kind,
                            .epsilon = norm_epsilon_})
          .normed;
    default:
      return states;
  }
}

at::Tensor ClassificationHead::forward(const at::Tensor& states, bool training, std::uint64_t key,
                                       std::int64_t first_row) const {
  const Mode mode{.training = training, .key = key, .first_row = first_row};
  const at::Tensor hidden = transform(states.to(output_.weight.scalar_type()), mode);
  return project(drop(hidden, mode, 1), output_.weight) + output_.bias;
}

}  // namespace roformer
