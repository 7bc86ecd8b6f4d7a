#include "model/layer_parameters.h"

namespace roformer {
namespace {

at::Tensor add_vector(const ParameterScope& scope, const std::string& name, std::int64_t size,
                      Initializer initial) {
  return scope.add({.name = name, .shape = {size}, .initial = std::move(initial), .decay = false});
}

}  // namespace

Linear add_linear(const ParameterScope& scope, const std::string& name, const LinearShape& shape) {
  return {.weight = scope.add({.name = name + ".weight",
                               .shape = {shape.out, shape.in},
                               .initial = truncated_normal(shape.initialization)}),
          .bias = add_vector(scope, name + ".bias", shape.out, zeros())};
}

Norm add_norm(const ParameterScope& scope, const std::string& name, std::int64_t size) {
  return {.gain = add_vector(scope, name + ".weight", size, ones()),
          .shift = add_vector(scope, name + ".bias", size, zeros())};
}

}  // namespace roformer
