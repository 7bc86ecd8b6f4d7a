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

#include "tensor/profile.h"

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

// Part of a forward pass whose intermediate results are not kept: the backward pass computes them
// again from what went in (Chen 2016, arXiv:1604.06174). The same numbers to the last bit, since
// everything random in a body is a function of its key. A parameter's gradient still arrives once,
// when all that contributes to it has been added.

// Called again in the backward pass, it must make the same of the same; it may change none of the
// inputs in place.
using RecomputedBody = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// body(inputs), all defined. Parameters that the body reads need not be among the inputs; other
// tensors with a graph that it takes from outside must go through borrowed(). Without recording it
// is the body's call alone.
std::vector<at::Tensor> recomputed(const std::vector<at::Tensor>& inputs,
                                   const RecomputedBody& body);

// What a body is to use for a tensor that is made outside of it and shared with others: x itself
// where no body runs. A body asks for the same ones in the same order each time.
at::Tensor borrowed(const at::Tensor& x);

}  // namespace roformer
