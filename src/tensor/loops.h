// Which of its forms an operation takes: the program's own loops (kernels.h), which CPUs have, its
// own kernels (gpu/launch.h), which GPUs have where they can be compiled, or LibTorch's operations
// put together, which every device has.
#pragma once

#include <ATen/core/Tensor.h>

namespace roformer {

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
