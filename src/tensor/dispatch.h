// Chooses how an operation computes: by which loops or kernels, and for which type.
#pragma once

#include <ATen/core/Tensor.h>

#include "base/error.h"
#include "tensor/kernels.h"
#include "tensor/scoped.h"

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

enum class Form {
  loops,        // our own loops on a CPU (kernels.h)
  gpu_kernels,  // our own kernels on a GPU (gpu/launch.h), if they can be compiled
  composed      // LibTorch's operations, on every device
};
// For an operation that has all three forms.
Form form_of(const at::Tensor& x);
// Whether it is Form::loops.
bool runs_loops(const at::Tensor& x);

// As long as it lives, this thread computes in the composed form, on CPUs, too: for tests and
// `roformer bench devices`, which compare the forms.
class ComposedForms {
 public:
  ComposedForms();

 private:
  Scoped<bool> scope_;
};

}  // namespace roformer
