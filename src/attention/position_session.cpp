#include "attention/position_session.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <limits>
#include <utility>
#include <vector>

#include "attention/linear_attention.h"
#include "base/error.h"
#include "base/random.h"

namespace roformer {
namespace {

// i - j for every pair, [Lq, Lk] int64.
at::Tensor distances(const Positions& queries, const Positions& keys) {
  return queries.tensor().unsqueeze(1) - keys.tensor().unsqueeze(0);
}

}  // namespace

at::Tensor causal_mask(const Positions& queries, const Positions& keys) {
  return distances(queries, keys) >= 0;
}

at::Tensor window_mask(const Positions& queries, const Positions& keys, std::int64_t window,
                       bool causal) {
  const at::Tensor distance = distances(queries, keys);
  if (causal) return (distance >= 0).logical_and(distance < window);
  const std::int64_t left = window / 2;
  return (distance <= left).logical_and(distance >= -(window - 1 - left));
}

PositionSession::PositionSession(SessionInputs inputs) : inputs_(std::move(inputs)) {}

Positions PositionSession::first(std::int64_t length) const {
  const Positions& all = inputs_.positions;
  ROFORMER_ASSERT(length <= all.count());
  if (all.contiguous()) return Positions::range(all[0], length);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < length; ++i) values.push_back(all[i]);
  return Positions::of(std::move(values));
}

AttentionContext PositionSession::context(std::int64_t layer, std::int64_t length) const {
  const Positions positions = first(length);
  return {.queries = positions,
          .keys = positions,
          .layer = layer,
          .causal = inputs_.causal,
          .training = inputs_.training,
          .type = inputs_.type,
          .device = inputs_.device};
}

at::Tensor PositionSession::extra_mask(std::int64_t length) {
  if (!extra_mask_made_) {
    extra_mask_made_ = true;
    const AttentionContext whole = context(0, inputs_.positions.count());
    at::Tensor mask = inputs_.scheme.mask(whole);
    if (inputs_.attention.window > 0) {
      const at::Tensor window =
          window_mask(whole.queries, whole.keys, inputs_.attention.window, inputs_.causal);
      mask = mask.defined() ? mask.logical_and(window) : window;
    }
    if (mask.defined() && inputs_.causal) {
      mask = mask.logical_and(causal_mask(whole.queries, whole.keys));
    }
    if (mask.defined()) extra_mask_ = mask.to(inputs_.device);
  }
  if (!extra_mask_.defined()) return {};
  return extra_mask_.narrow(-2, 0, length).narrow(-1, 0, length);
}

std::int64_t PositionSession::bias_key(std::int64_t layer) const {
  return inputs_.scheme.has_bias() && inputs_.scheme.bias_of_each_layer() ? layer : -1;
}

at::Tensor PositionSession::bias(std::int64_t layer, std::int64_t length) {
  if (!inputs_.scheme.has_bias()) return {};
  at::Tensor& all = biases_[bias_key(layer)];
  if (!all.defined()) all = inputs_.scheme.bias(context(layer, inputs_.positions.count()));
  return all.narrow(-2, 0, length).narrow(-1, 0, length);
}

at::Tensor PositionSession::additive(std::int64_t layer, std::int64_t length) {
  const std::int64_t longest = inputs_.positions.count();
  at::Tensor mask = extra_mask(longest);
  if (!inputs_.scheme.has_bias() && !mask.defined()) return {};
  at::Tensor& all = additive_[bias_key(layer)];
  if (!all.defined()) {
    if (!mask.defined() && inputs_.causal) {
      mask = causal_mask(inputs_.positions, inputs_.positions).to(inputs_.device);
    }
    const auto options = at::TensorOptions().dtype(inputs_.type).device(inputs_.device);
    all = inputs_.scheme.has_bias() ? bias(layer, longest)
                                    : at::zeros({1, 1, longest, longest}, options);
    if (mask.defined()) {
      all = all.masked_fill(mask.logical_not(), -std::numeric_limits<double>::infinity());
    }
  }
  return all.narrow(-2, 0, length).narrow(-1, 0, length);
}

at::Tensor PositionSession::feature_matrix(std::int64_t layer, std::int64_t head_width) {
  if (inputs_.attention.kernel != AttentionKernel::favor) return {};
  at::Tensor& matrix = features_[layer];
  if (!matrix.defined()) {
    const std::uint64_t key = random_key({inputs_.feature_key, static_cast<std::uint64_t>(layer)});
    matrix = favor_matrix(favor_features(inputs_.attention, head_width), head_width, key)
                 .to(at::TensorOptions().dtype(inputs_.type).device(inputs_.device));
  }
  return matrix;
}

}  // namespace roformer
