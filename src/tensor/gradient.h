// Operations with a hand-written gradient, without the weight of LibTorch's autograd headers:
//
//   at::Tensor twice(const at::Tensor& x) {
//     GradientRecorder recorder("elementwise/twice", {x});  // from here on nothing is recorded
//     return recorder.finish(x * 2, [](const Gradients& g) -> Gradients { return {g[0] * 2}; });
//   }
//
// The closure gets the gradients of the outputs (undefined where nothing flows) and returns those
// of the inputs in their order (undefined where none is needed). It must not hold an output with
// its graph, which would be a cycle: hold output.detach(). The name is that of a profile
// (operation_profile.h); the backward pass is called so, too.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/GradMode.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "tensor/operation_profile.h"

namespace roformer {

using Gradients = std::vector<at::Tensor>;
using Backward = std::function<Gradients(const Gradients&)>;

// Where a closure adds up the gradient of a parameter [n], which need not be a leaf.
struct ParameterGradient {
  // A parameter's own gradient, if it has one of that type, which saves autograd a pass over it;
  // else zeros. `count` numbers, also where the parameter is undefined.
  ParameterGradient(const at::Tensor& parameter, std::int64_t count,
                    const at::TensorOptions& options);

  at::Tensor total;  // [count]
  // What the closure returns for it: undefined where `total` is the parameter's own.
  at::Tensor returned;
};

class GradientRecorder {
 public:
  GradientRecorder(const char* name, std::vector<at::Tensor> inputs);
  GradientRecorder(const GradientRecorder&) = delete;
  GradientRecorder& operator=(const GradientRecorder&) = delete;

  // Whether a gradient is wanted of any input, or of the one at this index.
  bool wanted() const { return wanted_; }
  bool wanted(std::size_t index) const;

  at::Tensor finish(const at::Tensor& output, Backward backward);
  std::vector<at::Tensor> finish(std::vector<at::Tensor> outputs, Backward backward);

 private:
  const char* name_;
  OperationScope scope_;
  std::vector<at::Tensor> inputs_;
  bool wanted_;
  c10::AutoGradMode silence_;
};

}  // namespace roformer
