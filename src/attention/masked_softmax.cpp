#include "attention/masked_softmax.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>

#include <limits>

#include "tensor/gradient.h"
#include "tensor/loops.h"

namespace roformer {
namespace {

// LibTorch's softmax for CPUs works row by row and allows its output to be its input.
at::Tensor softmax_in_place(const at::Tensor& scores) {
  at::Tensor result = scores;
  if (!runs_loops(scores)) return at::_softmax(scores, -1, /*half_to_float=*/false);
  return at::_softmax_out(result, scores, -1, /*half_to_float=*/false);
}

at::Tensor slope_in_place(const at::Tensor& gradient, const at::Tensor& probabilities) {
  at::Tensor result = gradient;
  const at::ScalarType type = probabilities.scalar_type();
  if (!runs_loops(gradient)) return at::_softmax_backward_data(gradient, probabilities, -1, type);
  return at::_softmax_backward_data_out(result, gradient, probabilities, -1, type);
}

}  // namespace

at::Tensor masked_softmax(const MaskedSoftmaxInputs& in) {
  GradientRecorder recorder("attention/masked_softmax", {in.scores, in.bias});
  const at::Tensor scores = in.scores.detach();
  if (in.bias.defined()) scores.add_(in.bias.detach());
  at::Tensor hidden;
  if (in.mask.defined()) {
    hidden = in.mask.logical_not();
    scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  }
  const at::Tensor probabilities = softmax_in_place(scores);
  // A row of nothing but -infinity came out as NaN. (Filling always would cost a pass on CPUs;
  // asking would cost a GPU a stop.)
  if (hidden.defined() && (!runs_loops(hidden) || hidden.all(-1).any().item<bool>())) {
    probabilities.masked_fill_(hidden, 0);
  }
  std::vector<std::int64_t> bias_shape;
  if (recorder.wanted(1)) bias_shape = in.bias.sizes().vec();
  return recorder.finish(
      probabilities, [probabilities, bias_shape](const Gradients& gradients) -> Gradients {
        const at::Tensor slope = slope_in_place(gradients[0].contiguous(), probabilities);
        return {slope, bias_shape.empty() ? at::Tensor() : slope.sum_to_size(bias_shape)};
      });
}

}  // namespace roformer
