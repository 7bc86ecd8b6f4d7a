#include "attention/attention_cache.h"

#include <ATen/ops/tensor.h>

#include <utility>

#include "base/error.h"

namespace roformer {
namespace {

Positions joined(const Positions& first, const Positions& second) {
  if (first.count() == 0) return second;
  if (first.contiguous() && second.contiguous() && second[0] == first.largest() + 1) {
    return Positions::range(first[0], first.count() + second.count());
  }
  std::vector<std::int64_t> values;
  for (const Positions* part : {&first, &second}) {
    for (std::int64_t i = 0; i < part->count(); ++i) values.push_back((*part)[i]);
  }
  return Positions::of(std::move(values));
}

}  // namespace

void AttentionCache::begin_step(const Positions& positions) {
  positions_ = joined(positions_, positions);
}

void AttentionCache::keep(const std::vector<std::int64_t>& indices) {
  kept_ = static_cast<std::int64_t>(indices.size());
  if (kept_ == length()) return;
  ROFORMER_ASSERT(!drawn_positions.defined());
  std::vector<std::int64_t> values;
  for (const std::int64_t index : indices) values.push_back(positions_[index]);
  positions_ = Positions::of(std::move(values));
  keys_values_.keep(at::tensor(indices, at::kLong));
}

void AttentionCache::reorder(std::span<const std::int64_t> sources) {
  keys_values_.reorder(sources);
  for (Linear& layer : linear_) layer.state.reorder(sources);
}

KeyValue AttentionCache::append(std::int64_t layer, const KeyValue& added) {
  return keys_values_.append(layer, added, length() - added.key.size(2));
}

AttentionCache::Linear& AttentionCache::linear(std::int64_t layer) {
  if (layer >= static_cast<std::int64_t>(linear_.size())) {
    linear_.resize(static_cast<std::size_t>(layer) + 1);
  }
  return linear_[static_cast<std::size_t>(layer)];
}

}  // namespace roformer
