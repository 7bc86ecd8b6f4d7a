// The two groups of parameters that every layer is made of.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "tensor/parameter_scope.h"

namespace roformer {

struct Linear {
  at::Tensor weight;  // [out, in]
  at::Tensor bias;    // [out]
};
struct LinearShape {
  std::int64_t out = 0, in = 0;
  double initialization = 0.02;  // standard deviation of the truncated normal
};
// NAME.weight and NAME.bias.
Linear add_linear(const ParameterScope& scope, const std::string& name, const LinearShape& shape);

struct Norm {
  at::Tensor gain, shift;  // [size]
};
Norm add_norm(const ParameterScope& scope, const std::string& name, std::int64_t size);

}  // namespace roformer
