#include "attention/key_value_cache.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace roformer {
namespace {

constexpr std::int64_t kSmallest = 64;  // places of the first allocation

Positions joined(const Positions& first, const Positions& second) {
  if (first.count() == 0) return second;
  std::vector<std::int64_t> values;
  for (const Positions* part : {&first, &second}) {
    for (std::int64_t i = 0; i < part->count(); ++i) values.push_back((*part)[i]);
  }
  return Positions::of(std::move(values));
}

// Writes `added` behind the first `held` places, in more memory where there is too little.
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

void KeyValueCache::begin_step(const Positions& places) {
  positions_ = joined(positions_, places);
}

KeyValue KeyValueCache::append(std::int64_t layer, const KeyValue& added) {
  const std::int64_t held = length() - added.key.size(2);
  ROFORMER_ASSERT(layer >= 0 && held >= 0);
  if (layer >= static_cast<std::int64_t>(layers_.size())) {
    layers_.resize(static_cast<std::size_t>(layer) + 1);
  }
  KeyValue& memory = layers_[static_cast<std::size_t>(layer)];
  const at::Tensor key = store(memory.key, added.key, held);
  return {.key = key, .value = store(memory.value, added.value, held)};
}

}  // namespace roformer
