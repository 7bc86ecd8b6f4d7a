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

Positions first(const Positions& all, std::int64_t count) {
  ROFORMER_ASSERT(count <= all.count());
  if (all.contiguous()) return Positions::range(all[0], count);
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(all[i]);
  return Positions::of(std::move(values));
}

at::Tensor cut(const at::Tensor& pairs, const Extent& extent) {
  return pairs.narrow(-2, 0, extent.queries).narrow(-1, 0, extent.keys);
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

PositionSession::PositionSession(SessionInputs inputs) : inputs_(std::move(inputs)) {
  if (!inputs_.scheme.draws_places() || inputs_.places.defined()) return;
  const std::int64_t length = inputs_.keys.count();
  inputs_.places = inputs_.scheme.draw_places({.lengths = {&length, 1}});
}

AttentionContext PositionSession::context(std::int64_t layer, const Extent& extent,
                                          const Sequences& sequences) const {
  at::Tensor places = inputs_.places;
  if (places.defined()) {
    places = places.narrow(1, 0, extent.keys);
    if (places.size(0) > 1) places = places.narrow(0, sequences.first, sequences.count);
  }
  return {.queries = first(inputs_.queries, extent.queries),
          .keys = first(inputs_.keys, extent.keys),
          .layer = layer,
          .causal = inputs_.causal,
          .training = inputs_.training,
          .type = inputs_.type,
          .device = inputs_.device,
          .places = places};
}

void PositionSession::make_masks() {
  if (masks_made_) return;
  masks_made_ = true;
  const AttentionContext all = context(0, whole());
  at::Tensor mask = inputs_.scheme.mask(all);
  if (inputs_.attention.window > 0) {
    const at::Tensor window =
        window_mask(all.queries, all.keys, inputs_.attention.window, inputs_.causal);
    mask = mask.defined() ? mask.logical_and(window) : window;
  }
  // One query behind all keys sees them all.
  if (inputs_.causal && !(all.queries.count() == 1 && all.queries[0] >= all.keys.largest())) {
    only_causal_ = !mask.defined() && all.queries == all.keys;
    const at::Tensor past = causal_mask(all.queries, all.keys);
    mask = mask.defined() ? mask.logical_and(past) : past;
  }
  if (mask.defined()) mask_ = mask.to(inputs_.device);
}

at::Tensor PositionSession::mask(const Extent& extent) {
  make_masks();
  return mask_.defined() ? cut(mask_, extent) : mask_;
}

std::int64_t PositionSession::bias_key(std::int64_t layer) const {
  return inputs_.scheme.has_bias() && inputs_.scheme.bias_of_each_layer() ? layer : -1;
}

at::Tensor PositionSession::bias(std::int64_t layer, const Extent& extent) {
  if (!inputs_.scheme.has_bias()) return {};
  at::Tensor& all = biases_[bias_key(layer)];
  if (!all.defined()) all = inputs_.scheme.bias(context(layer, whole()));
  return cut(all, extent);
}

at::Tensor PositionSession::additive(std::int64_t layer, const Extent& extent) {
  make_masks();
  const bool biased = inputs_.scheme.has_bias();
  if (!biased && (only_causal_ || !mask_.defined())) return {};
  at::Tensor& all = additive_[bias_key(layer)];
  if (!all.defined()) {
    all = biased ? bias(layer, whole())
                 : at::zeros({1, 1, whole().queries, whole().keys},
                             at::TensorOptions().dtype(inputs_.type).device(inputs_.device));
    if (mask_.defined()) {
      all = all.masked_fill(mask_.logical_not(), -std::numeric_limits<double>::infinity());
    }
  }
  return cut(all, extent);
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
