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

// Which of its forms an operation takes: the program's own loops (kernels.h), which CPUs have, its
// own kernels (gpu/launch.h), which GPUs have where they can be compiled, or LibTorch's operations
// put together, which every device has.

enum class Form { loops, gpu_kernels, composed };
// Of an operation that has all three.
Form form_of(const at::Tensor& x);

// Whether loops of the program's own run on the tensor's memory.
bool runs_loops(const at::Tensor& x);

// As long as it lives, what this thread computes takes the composed form, on CPUs, too: for tests
// and `roformer bench devices`, which hold one form against the other.
class ComposedForms {
 public:
  ComposedForms();
  ~ComposedForms();
  ComposedForms(const ComposedForms&) = delete;
  ComposedForms& operator=(const ComposedForms&) = delete;

 private:
  bool before_;
};

}  // namespace roformer
