// Operations with a hand-written gradient, without the weight of LibTorch's autograd headers:
//
//   at::Tensor twice(const at::Tensor& x) {
//     GradientRecorder recorder("elementwise/twice", {x});  // from here on nothing is recorded
//     return recorder.finish(x * 2, [](const Gradients& g) -> Gradients { return {g[0] * 2}; });
//   }
//
// The closure gets the gradients of the outputs (undefined: zero) and returns those of the inputs
// in their order (undefined: not needed). It must not hold an output with its graph, which would be
// a cycle: hold output.detach(). Profiles (profile.h) show the forward and backward pass under the
// name.
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

// Where a closure sums the gradient of a parameter [n], which need not be a leaf.
struct ParameterGradient {
  // The parameter's own gradient if it has one of that type, which saves autograd a pass over it;
  // else zeros. It has `count` numbers, even if the parameter is undefined.
  ParameterGradient(const at::Tensor& parameter, std::int64_t count,
                    const at::TensorOptions& options);

  at::Tensor total;  // [count]
  // The closure's result: undefined if `total` is the parameter's own gradient.
  at::Tensor returned;
};

class GradientRecorder {
 public:
  GradientRecorder(const char* name, std::vector<at::Tensor> inputs);
  GradientRecorder(const GradientRecorder&) = delete;
  GradientRecorder& operator=(const GradientRecorder&) = delete;

  // Whether any input needs a gradient, or the one at this index.
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

// Recomputation: a part of the forward pass whose intermediate results are not kept. The backward
// pass computes them again from the inputs (Chen 2016, arXiv:1604.06174), to the same bits, because
// all random numbers are functions of a key. A parameter's gradient still arrives once, complete.

// Called again in the backward pass: it must give the same result for the same inputs and change
// none of them in place.
using RecomputedBody = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// body(inputs), all defined. Parameters that the body reads need not be among the inputs; any other
// outside tensor with a graph must go through borrowed(). Without gradients it just calls the body.
std::vector<at::Tensor> recomputed(const std::vector<at::Tensor>& inputs,
                                   const RecomputedBody& body);

// The tensor that a body must use in place of x, which was made outside; x itself if no body runs.
// A body must ask for the same tensors in the same order each time.
at::Tensor borrowed(const at::Tensor& x);

}  // namespace roformer
