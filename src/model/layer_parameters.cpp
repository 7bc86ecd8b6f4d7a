#include "model/layer_parameters.h"

#include <ATen/TensorOperators.h>

#include "tensor/operations.h"

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
                                     .projects = true})};
  if (shape.bias) result.bias = add_vector(scope, name + ".bias", shape.out, zeros());
  return result;
}

at::Tensor apply(const Linear& linear, const at::Tensor& x) {
  const at::Tensor product = project(x, linear.weight);
  return linear.bias.defined() ? product + linear.bias.to(x.scalar_type()) : product;
}

Norm add_norm(const ParameterScope& scope, const std::string& name, std::int64_t size,
              const ModelSettings& model) {
  Norm result{.gain = add_vector(scope, name + ".weight", size, ones()), .kind = model.norm_kind};
  if (model.bias) result.shift = add_vector(scope, name + ".bias", size, zeros());
  return result;
}

}  // namespace roformer
