#include "attention/explicit_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "position/replaced_scores.h"
#include "tensor/aten.h"
#include "tensor/attention_kernels.h"
#include "tensor/dispatch.h"
#include "tensor/gradient.h"
#include "tensor/on_device.h"

namespace roformer {

at::Tensor wide_product(const at::Tensor& a, const at::Tensor& b) {
  const at::ScalarType type = a.scalar_type(), wide = accumulate_type(type);
  if (type == wide || a.is_cpu()) return at::matmul(a.to(wide), b.to(wide));
  return at::bmm(a.flatten(0, 1), b.flatten(0, 1), wide)
      .view({a.size(0), a.size(1), a.size(2), b.size(3)});
}

at::Tensor content_scores(const at::Tensor& query, const at::Tensor& key, double scale) {
  GradientRecorder recorder("attention/scores", {query, key});
  const at::Tensor q = query.detach(), k = key.detach(), across = k.transpose(-2, -1);
  // Queries are shorter than their scores. On a GPU the product takes them as they are stored.
  const at::Tensor scores =
      q.is_cpu() ? wide_product(q.to(accumulate_type(q.scalar_type())) * scale, across)
                 : wide_product(q, across).mul_(scale);
  return recorder.finish(scores, [q, k, scale](const Gradients& gradients) -> Gradients {
    const at::Tensor& slope = gradients[0];
    if (slope.scalar_type() == q.scalar_type()) {
      return {at::matmul(slope, k).mul_(scale), at::matmul(slope.transpose(-2, -1), q).mul_(scale)};
    }
    // Rounded once: the scale is no power of two everywhere.
    const at::Tensor narrow = (slope * scale).to(q.scalar_type());
    return {at::matmul(narrow, k), at::matmul(narrow.transpose(-2, -1), q)};
  });
}

at::Tensor weighted_values(const at::Tensor& probabilities, const at::Tensor& value) {
  GradientRecorder recorder("attention/weighted_values", {probabilities, value});
  const at::Tensor v = value.detach(), p = probabilities.detach().to(v.scalar_type());
  return recorder.finish(at::matmul(p, v), [p, v](const Gradients& gradients) -> Gradients {
    return {wide_product(gradients[0], v.transpose(-2, -1)),
            at::matmul(p.transpose(-2, -1), gradients[0])};
  });
}

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

namespace {

constexpr std::int64_t kLeastEncoderLength = 16;

}  // namespace

double log_n_factor(LogNScaling scaling, std::int64_t n, std::int64_t training_length) {
  const bool encoder = scaling == LogNScaling::encoder;
  const std::int64_t counted = encoder ? std::max(n, kLeastEncoderLength) : n;
  const double factor =
      std::log(static_cast<double>(counted)) / std::log(static_cast<double>(training_length));
  return scaling == LogNScaling::query ? std::max(1.0, factor) : factor;
}

at::Tensor log_n_factors(const AttentionSettings& settings, const AttentionContext& context,
                         at::ScalarType type) {
  ROFORMER_ASSERT(settings.log_n != LogNScaling::none);
  std::vector<double> factors;
  std::vector<std::int64_t> shape;
  const auto add = [&](std::int64_t n) {
    factors.push_back(log_n_factor(settings.log_n, n, settings.log_n_length));
  };
  if (settings.log_n != LogNScaling::encoder) {
    for (std::int64_t i = 0; i < context.queries.count(); ++i) add(context.queries[i] + 1);
    shape = {1, 1, context.queries.count(), 1};
  } else {
    add(context.keys.count());
    shape = {1, 1, 1, 1};
  }
  return on_device(at::tensor(factors, at::kDouble).view(shape),
                   at::TensorOptions().dtype(type).device(context.device));
}

}  // namespace roformer
