// From a tensor's type to the kernels' template argument.
#pragma once

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "tensor/kernels.h"

namespace roformer {

// Calls function(T{}) with the element type of a floating tensor.
template <typename Function>
decltype(auto) with_type(at::ScalarType type, const Function& function) {
  switch (type) {
    case at::kDouble:
      return function(double{});
    case at::kBFloat16:
      return function(c10::BFloat16{});
    default:
      ROFORMER_ASSERT(type == at::kFloat);
      return function(float{});
  }
}

// The type of the arithmetic, of statistics, biases and gains: float for bfloat16.
inline at::ScalarType accumulate_type(at::ScalarType type) {
  return type == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace roformer
