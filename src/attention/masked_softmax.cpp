#include "attention/masked_softmax.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/_softmax_backward_data.h>

#include <limits>

#include "base/error.h"
#include "position/score_rows.h"
#include "tensor/gradient.h"
#include "tensor/loops.h"
#include "tensor/score_kernels.h"

namespace roformer {
namespace {

template <typename T>
void loop_softmax(const at::Tensor& scores, const SharedRows& bias, const at::Tensor& mask) {
  const VisibleRows seen(scores, mask);
  const kernels::SoftmaxRows<T> work{
      .scores = scores.mutable_data_ptr<T>(),
      .bias = bias.rows().defined() ? bias.rows().const_data_ptr<T>() : nullptr,
      .bias_rows = bias.count(),
      .pairs = seen.pairs()};
  for_score_rows(scores, [&](std::int64_t begin, std::int64_t end) {
    kernels::score_kernels<T>().softmax_rows(work, begin, end);
  });
}

// In place where our loops run.
at::Tensor softmax_of(const at::Tensor& scores, const at::Tensor& bias, const at::Tensor& mask) {
  if (runs_loops(scores)) {
    ROFORMER_ASSERT(scores.is_contiguous());
    const at::ScalarType type = scores.scalar_type();
    const SharedRows rows(scores, bias.defined() ? bias.to(type) : bias);
    if (type == at::kDouble) {
      loop_softmax<double>(scores, rows, mask);
    } else {
      ROFORMER_ASSERT(type == at::kFloat);
      loop_softmax<float>(scores, rows, mask);
    }
    return scores;
  }
  if (bias.defined()) scores.add_(bias);
  if (!mask.defined()) return at::_softmax(scores, -1, /*half_to_float=*/false);
  const at::Tensor hidden = mask.logical_not();
  scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
  // A row with only -infinity would give NaN.
  return at::_softmax(scores, -1, /*half_to_float=*/false).masked_fill_(hidden, 0);
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
  const at::Tensor probabilities =
      softmax_of(in.scores.detach(), in.bias.defined() ? in.bias.detach() : in.bias, in.mask);
  std::vector<std::int64_t> bias_shape;
  if (recorder.wanted(1)) bias_shape = in.bias.sizes().vec();
  return recorder.finish(
      probabilities, [probabilities, bias_shape](const Gradients& gradients) -> Gradients {
        const at::Tensor slope = slope_in_place(gradients[0].contiguous(), probabilities);
        return {slope, bias_shape.empty() ? at::Tensor() : slope.sum_to_size(bias_shape)};
      });
}

}  // namespace roformer
