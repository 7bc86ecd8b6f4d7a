// Linear maps and norms: the parameters that every layer consists of.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "config/model_settings.h"
#include "tensor/parameter_scope.h"

namespace roformer {

struct Linear {
  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out] or undefined
};
struct LinearShape {
  std::int64_t out = 0, in = 0;
  double initialization = 0.02;  // standard deviation of the truncated normal
  bool bias = true;
};
// NAME.weight and NAME.bias.
Linear add_linear(const ParameterScope& scope, const std::string& name, const LinearShape& shape);

// x [T, in] -> [T, out], with the bias if defined.
at::Tensor apply(const Linear& linear, const at::Tensor& x);

struct Norm {
  at::Tensor gain, shift;  // [size]; shift undefined without biases
  NormKind kind = NormKind::layer_norm;
};
// Adds a norm of the model's kind.
Norm add_norm(const ParameterScope& scope, const std::string& name, std::int64_t size,
              const ModelSettings& model);

}  // namespace roformer
