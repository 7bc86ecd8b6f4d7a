#include "attention/key_value_cache.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/index_select.h>

#include <algorithm>

#include "attention/row_moves.h"
#include "base/error.h"

namespace roformer {
namespace {

constexpr std::int64_t kSmallest = 64;  // tokens of the first allocation

// Writes `added` after the first `held` tokens; allocates more memory if needed.
at::Tensor store(at::Tensor& memory, const at::Tensor& added, std::int64_t held) {
  const std::int64_t length = held + added.size(2);
  if (!memory.defined() || memory.size(2) < length) {
    std::vector<std::int64_t> sizes = added.sizes().vec();
    sizes[2] = std::max({kSmallest, length, 2 * held});
    const at::Tensor larger = at::empty(sizes, added.options());
    if (held > 0) larger.narrow(2, 0, held).copy_(memory.narrow(2, 0, held));
    memory = larger;
  }
  memory.narrow(2, held, added.size(2)).copy_(added);
  return memory.narrow(2, 0, length);
}

}  // namespace

KeyValue KeyValueCache::append(std::int64_t layer, const KeyValue& added, std::int64_t held) {
  ROFORMER_ASSERT(layer >= 0 && held >= 0);
  if (layer >= static_cast<std::int64_t>(layers_.size())) {
    layers_.resize(static_cast<std::size_t>(layer) + 1);
  }
  used_ = held + added.key.size(2);
  KeyValue& memory = layers_[static_cast<std::size_t>(layer)];
  const at::Tensor key = store(memory.key, added.key, held);
  KeyValue all{.key = key, .value = store(memory.value, added.value, held)};
  if (added.token_inputs.defined())
    all.token_inputs = store(memory.token_inputs, added.token_inputs, held);
  return all;
}

KeyValue KeyValueCache::held(std::int64_t layer, std::int64_t held) const {
  if (held == 0 || layer >= static_cast<std::int64_t>(layers_.size())) return {};
  const KeyValue& memory = layers_[static_cast<std::size_t>(layer)];
  const auto view = [&](const at::Tensor& x) { return x.defined() ? x.narrow(2, 0, held) : x; };
  return {.key = view(memory.key),
          .value = view(memory.value),
          .token_inputs = view(memory.token_inputs)};
}

void KeyValueCache::keep(const at::Tensor& indices) {
  for (KeyValue& layer : layers_) {
    for (at::Tensor* const memory : {&layer.key, &layer.value, &layer.token_inputs}) {
      if (!memory->defined()) continue;
      *memory = at::index_select(*memory, 2, indices.to(memory->device()));
    }
  }
  used_ = indices.size(0);
}

void KeyValueCache::reorder(std::span<const std::int64_t> sources) {
  // Layers with linear attention store nothing here.
  const auto held = std::find_if(layers_.begin(), layers_.end(),
                                 [](const KeyValue& layer) { return layer.key.defined(); });
  if (held == layers_.end()) return;
  const RowMoves moves(sources, held->key.size(0));
  if (moves.nothing()) return;
  for (KeyValue& layer : layers_) {
    if (!layer.key.defined()) continue;
    layer.key = moves.apply(layer.key, used_);
    layer.value = moves.apply(layer.value, used_);
    if (layer.token_inputs.defined()) layer.token_inputs = moves.apply(layer.token_inputs, used_);
  }
}

}  // namespace roformer
