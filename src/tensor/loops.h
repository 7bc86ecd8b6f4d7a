// Which of its two forms an operation takes: the program's own loops (kernels.h), which CPUs have,
// or LibTorch's operations put together, which every device has.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

// Whether loops of the program's own run on the tensor's memory.
bool runs_loops(const at::Tensor& x);

// As long as it lives, what this thread computes takes on CPUs, too, the form that a GPU takes: for
// tests and `roformer bench devices`, which hold one form against the other.
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
