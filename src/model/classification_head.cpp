#include "model/classification_head.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/tanh.h>

#include <string>

#include "base/random.h"
#include "tensor/operations.h"

namespace roformer {

ClassificationHead::ClassificationHead(const ClassificationHeadSettings& settings,
                                       const TransformerStack& stack, ParameterStore& parameters)
    : settings_(settings), activation_(stack.settings().model.activation) {
  const ModelSettings& model = stack.settings().model;
  const int depth = static_cast<int>(model.layers) + 1;
  const auto matrix = [&](const std::string& name, std::int64_t out) {
    return parameters.add({.name = name + ".weight",
                           .shape = {out, model.width},
                           .initial = truncated_normal(model.initialization),
                           .depth = depth});
  };
  const auto bias = [&](const std::string& name, std::int64_t size) {
    return parameters.add({.name = name + ".bias",
                           .shape = {size},
                           .initial = zeros(),
                           .decay = false,
                           .depth = depth});
  };
  const bool bert = settings.kind != ClassifierHead::roformer;
  const std::string dense = bert ? "pooler" : "classifier.dense";
  const std::string output = bert ? "classifier" : "classifier.output";
  if (settings.kind != ClassifierHead::linear) {
    dense_ = matrix(dense, model.width);
    dense_bias_ = bias(dense, model.width);
  }
  output_ = matrix(output, settings.outputs);
  output_bias_ = bias(output, settings.outputs);
}

at::Tensor ClassificationHead::forward(const at::Tensor& states, bool training,
                                       std::uint64_t key) const {
  const auto drop = [&](const at::Tensor& x, std::uint64_t site) {
    if (!training) return x;
    return dropout(x, {.probability = settings_.dropout, .key = random_key({key, site})});
  };
  at::Tensor hidden = states.to(output_.scalar_type());
  if (settings_.kind == ClassifierHead::bert) {
    hidden = at::tanh(project(hidden, dense_) + dense_bias_);
  } else if (settings_.kind == ClassifierHead::roformer) {
    hidden = bias_activation(project(drop(hidden, 0), dense_), dense_bias_, activation_);
  }
  return project(drop(hidden, 1), output_) + output_bias_;
}

}  // namespace roformer
