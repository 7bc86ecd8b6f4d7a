#include "attention/position_session.h"

#include <limits>
#include <utility>

#include "attention/linear_attention.h"
#include "base/random.h"
#include "position/relative_index.h"
#include "tensor/aten.h"
#include "tensor/gradient.h"
#include "tensor/on_device.h"

namespace roformer {
namespace {

// Positions as a column and a row: masks are computed from these by broadcasting, without a matrix
// of distances (eight bytes a pair). Made on the host; only these two vectors are copied to
// the device.
at::Tensor column_of(const Positions& queries, at::Device device) {
  return on_device(queries.tensor(), device).unsqueeze(1);
}

at::Tensor row_of(const Positions& keys, at::Device device) {
  return on_device(keys.tensor(), device).unsqueeze(0);
}

// A shared parameter whose gradients are summed within a layer before they are summed over layers.
at::Tensor of_one_layer(const at::Tensor& parameter) {
  GradientRecorder recorder("position/shared", {parameter});
  return recorder.finish(parameter.detach(), [](const Gradients& gradients) { return gradients; });
}

// How many keys a window shows before and after the query.
struct WindowReach {
  std::int64_t before = 0, after = 0;
};
WindowReach reach_of(std::int64_t window, bool causal) {
  const std::int64_t before = causal ? window - 1 : window / 2;
  return {.before = before, .after = window - 1 - before};
}

at::Tensor inside_window(const at::Tensor& query, const at::Tensor& key, std::int64_t window,
                         bool causal) {
  const WindowReach reach = reach_of(window, causal);
  return (key >= query - reach.before).logical_and_(key <= query + reach.after);
}

at::Tensor cut(const at::Tensor& pairs, const Extent& extent) {
  return pairs.narrow(-2, 0, extent.queries).narrow(-1, 0, extent.keys);
}

}  // namespace

at::Tensor causal_mask(const Positions& queries, const Positions& keys, at::Device device) {
  return row_of(keys, device) <= column_of(queries, device);
}

at::Tensor window_mask(const Positions& queries, const Positions& keys, std::int64_t window,
                       bool causal, at::Device device) {
  return inside_window(column_of(queries, device), row_of(keys, device), window, causal);
}

PositionSession::PositionSession(SessionInputs inputs) : inputs_(std::move(inputs)) {
  if (!inputs_.scheme.capabilities().draws_positions || inputs_.drawn_positions.defined()) return;
  const std::int64_t length = inputs_.keys.count();
  inputs_.drawn_positions = inputs_.scheme.draw_positions({.lengths = {&length, 1}});
}

AttentionContext PositionSession::context(std::int64_t layer, const Extent& extent,
                                          const Sequences& sequences) {
  AttentionContext result = context_of_positions(layer, extent, sequences);
  std::vector<at::Tensor>& shared = shared_[layer];
  if (shared.empty()) {
    for (const at::Tensor& x : scheme(layer).shared_parameters()) shared.push_back(of_one_layer(x));
  }
  for (const at::Tensor& x : shared) result.shared.push_back(borrowed(x));
  return result;
}

AttentionContext PositionSession::context_of_positions(std::int64_t layer, const Extent& extent,
                                                       const Sequences& sequences) const {
  at::Tensor drawn = inputs_.drawn_positions;
  if (drawn.defined()) {
    drawn = drawn.narrow(1, 0, extent.keys);
    if (drawn.size(0) > 1) drawn = drawn.narrow(0, sequences.first, sequences.count);
  }
  return {.queries = inputs_.queries.part(0, extent.queries),
          .keys = inputs_.keys.part(0, extent.keys),
          .layer = layer,
          .causal = inputs_.causal,
          .training = inputs_.training,
          .type = inputs_.type,
          .device = inputs_.device,
          .drawn_positions = drawn};
}

const std::optional<RotationPair>& PositionSession::rotation(std::int64_t layer,
                                                             std::int64_t length,
                                                             std::int64_t head_width) {
  const PositionScheme& own = scheme(layer);
  const auto [found, added] = rotations_.try_emplace({&own, length, head_width});
  if (added) {
    found->second =
        own.rotation(context_of_positions(layer, Extent::square(length), {}), head_width);
  }
  return found->second;
}

std::int64_t PositionSession::window(std::int64_t layer) const {
  const std::int64_t tokens = attention(layer).window;
  if (tokens == 0) return 0;
  const Positions &queries = inputs_.queries, &keys = inputs_.keys;
  const WindowReach reach = reach_of(tokens, inputs_.causal);
  const bool hides = queries.largest() - keys.least() > reach.before ||
                     (!inputs_.causal && keys.largest() - queries.least() > reach.after);
  return hides ? tokens : 0;
}

PositionSession::MaskKey PositionSession::mask_key(std::int64_t layer) const {
  return {&scheme(layer), window(layer)};
}

const at::Tensor& PositionSession::mask_of_scheme(std::int64_t layer) {
  Mask& mask = masks_[mask_key(layer)];
  if (!mask.asked) mask.of_scheme = scheme(layer).mask(context_of_positions(layer, whole(), {}));
  mask.asked = true;
  return mask.of_scheme;
}

bool PositionSession::adds_nothing(std::int64_t layer) {
  return !scheme(layer).capabilities().bias && window(layer) == 0 &&
         inputs_.queries == inputs_.keys && !mask_of_scheme(layer).defined();
}

const at::Tensor& PositionSession::visible(std::int64_t layer) {
  Mask& result = masks_[mask_key(layer)];
  if (result.made) return result.visible;
  at::Tensor mask = mask_of_scheme(layer);
  if (mask.defined()) mask = on_device(mask, inputs_.device);
  result.made = true;
  const Positions &queries = inputs_.queries, &keys = inputs_.keys;
  if (const std::int64_t tokens = window(layer); tokens > 0) {
    const at::Tensor near = window_mask(queries, keys, tokens, inputs_.causal, inputs_.device);
    mask = mask.defined() ? mask.logical_and(near) : near;
  }
  // A single query after all keys sees every key.
  if (inputs_.causal && !(queries.count() == 1 && queries[0] >= keys.largest())) {
    const at::Tensor past = causal_mask(queries, keys, inputs_.device);
    mask = mask.defined() ? mask.logical_and(past) : past;
  }
  result.visible = mask;
  return result.visible;
}

at::Tensor PositionSession::mask(std::int64_t layer, const Extent& extent) {
  const at::Tensor& all = visible(layer);
  return all.defined() ? cut(all, extent) : all;
}

// The extent that a bias is computed for: the whole session, unless it depends on the length.
Extent PositionSession::bias_extent(std::int64_t layer, const Extent& extent) const {
  const auto bias = scheme(layer).capabilities().bias;
  return bias && bias->on_length ? extent : whole();
}

PositionSession::BiasKey PositionSession::bias_key(std::int64_t layer, const Extent& extent) const {
  const PositionScheme& own = scheme(layer);
  const BiasDependence bias = own.capabilities().bias.value_or(BiasDependence());
  return {&own, bias.on_layer ? layer : -1, bias.on_length ? extent.keys : -1};
}

at::Tensor PositionSession::bias(std::int64_t layer, const Extent& extent) {
  return borrowed(own_bias(layer, extent));
}

at::Tensor PositionSession::own_bias(std::int64_t layer, const Extent& extent) {
  if (!scheme(layer).capabilities().bias) return {};
  at::Tensor& all = biases_[bias_key(layer, extent)];
  if (!all.defined())
    all = scheme(layer).bias(context_of_positions(layer, bias_extent(layer, extent), {}));
  return cut(all, extent);
}

at::Tensor PositionSession::additive(std::int64_t layer, const Extent& extent) {
  const bool biased = scheme(layer).capabilities().bias.has_value();
  if (adds_nothing(layer) || (!biased && !visible(layer).defined())) return {};
  at::Tensor& all = additive_[{bias_key(layer, extent), mask_key(layer)}];
  if (!all.defined()) {
    const Extent made = bias_extent(layer, extent);
    all = biased ? own_bias(layer, made)
                 : at::zeros({1, 1, made.queries, made.keys},
                             at::TensorOptions().dtype(inputs_.type).device(inputs_.device));
    if (visible(layer).defined()) {
      all = all.masked_fill(cut(visible(layer), made).logical_not(),
                            -std::numeric_limits<double>::infinity());
    }
  }
  return borrowed(cut(all, extent));
}

at::Tensor PositionSession::additive_of_differences(std::int64_t layer, const Extent& extent) {
  const PositionScheme& own = scheme(layer);
  const std::int64_t tokens = window(layer);
  const auto bias = own.capabilities().bias;
  const bool something = bias ? bias->on_distance_alone : tokens > 0;
  if (!something || !inputs_.queries.contiguous() || !inputs_.keys.contiguous() ||
      mask_of_scheme(layer).defined()) {
    return {};
  }
  const Extent made = bias_extent(layer, extent);
  at::Tensor& all = differences_[{bias_key(layer, extent), mask_key(layer)}];
  if (!all.defined()) {
    const AttentionContext whole_context = context_of_positions(layer, made, {});
    const at::Tensor distances =
        distances_of(distance_range(whole_context.queries, whole_context.keys));
    all = bias ? own.bias_at(whole_context, distances)
               : at::zeros({1, distances.size(0)},
                           at::TensorOptions().dtype(inputs_.type).device(inputs_.device));
    if (tokens > 0) {
      const at::Tensor query = -distances, key = at::zeros({1}, at::kLong);
      const at::Tensor hidden = inside_window(query, key, tokens, inputs_.causal).logical_not();
      all = all.masked_fill(on_device(hidden, inputs_.device),
                            -std::numeric_limits<double>::infinity());
    }
  }
  return borrowed(all.narrow(1, made.queries - extent.queries, extent.queries + extent.keys - 1));
}

const at::Tensor& PositionSession::text_starts(const TokenLayout& layout) {
  if (text_starts_.defined()) return text_starts_;
  std::vector<std::int64_t> starts;
  for (const TokenBlock& block : layout.blocks) {
    for (std::int64_t text = 0; text < block.sequences; ++text) {
      starts.push_back(block.begin + text * block.length);
    }
  }
  starts.push_back(layout.tokens);
  text_starts_ = on_device(at::tensor(starts, at::kInt), inputs_.device);
  return text_starts_;
}

at::Tensor PositionSession::feature_matrix(std::int64_t layer, std::int64_t head_width) {
  if (attention(layer).kernel != AttentionKernel::favor) return {};
  at::Tensor& matrix = features_[layer];
  if (!matrix.defined()) {
    const std::uint64_t key = random_key({inputs_.feature_key, static_cast<std::uint64_t>(layer)});
    matrix = on_device(favor_matrix(favor_features(attention(layer), head_width), head_width, key),
                       at::TensorOptions().dtype(inputs_.type).device(inputs_.device));
  }
  return matrix;
}

}  // namespace roformer
