#include "attention/attention_cache.h"

#include <ATen/Parallel.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "attention/position_session.h"
#include "base/error.h"
#include "tensor/aten.h"
#include "tensor/on_device.h"

namespace roformer {

RowMoves::RowMoves(std::span<const std::int64_t> sources, std::int64_t rows)
    : sources_(sources.begin(), sources.end()), rows_(rows) {
  std::vector<std::int64_t> readers(static_cast<std::size_t>(rows), 0);  // copies still to make
  std::vector<std::int64_t> wanted(static_cast<std::size_t>(rows), kSpare);
  for (std::int64_t to = 0; to < count(); ++to) {
    const std::int64_t from = sources_[static_cast<std::size_t>(to)];
    ROFORMER_ASSERT(from >= 0 && from < rows);
    if (from == to || to >= rows) continue;
    wanted[static_cast<std::size_t>(to)] = from;
    ++readers[static_cast<std::size_t>(from)];
  }
  // Overwrites a row that no copy still reads, then the row it was copied from, and so on.
  const auto follow = [&](std::int64_t to) {
    while (wanted[static_cast<std::size_t>(to)] != kSpare &&
           readers[static_cast<std::size_t>(to)] == 0) {
      const std::int64_t from = wanted[static_cast<std::size_t>(to)];
      copies_.push_back({.from = from, .to = to});
      wanted[static_cast<std::size_t>(to)] = kSpare;
      --readers[static_cast<std::size_t>(from)];
      to = from;
    }
  };
  for (std::int64_t to = 0; to < rows; ++to) follow(to);
  // Only cycles remain, in which every row is read once: one row of each moves to the spare row.
  for (std::int64_t first = 0; first < rows; ++first) {
    if (wanted[static_cast<std::size_t>(first)] == kSpare) continue;
    copies_.push_back({.from = first, .to = kSpare});
    std::int64_t to = first;
    for (;;) {
      const std::int64_t from = wanted[static_cast<std::size_t>(to)];
      wanted[static_cast<std::size_t>(to)] = kSpare;
      if (from == first) break;
      copies_.push_back({.from = from, .to = to});
      to = from;
    }
    copies_.push_back({.from = kSpare, .to = to});
  }
}

at::Tensor RowMoves::apply(const at::Tensor& memory, std::int64_t used) const {
  ROFORMER_ASSERT(memory.size(0) == rows_);
  if (count() > rows_) {
    std::vector<std::int64_t> sizes = memory.sizes().vec();
    sizes[0] = count();
    const at::Tensor larger = at::empty(sizes, memory.options());
    const at::Tensor index = on_device(at::tensor(sources_, at::kLong), memory.device());
    larger.narrow(2, 0, used).copy_(at::index_select(memory.narrow(2, 0, used), 0, index));
    return larger;
  }
  if (memory.is_cpu() && memory.dim() == 4 && memory.is_contiguous()) {
    copy_heads(memory, used);
    return memory.narrow(0, 0, count());
  }
  at::Tensor spare;
  for (const Copy& copy : copies_) {
    const at::Tensor from =
        copy.from == kSpare ? spare : memory.select(0, copy.from).narrow(1, 0, used);
    if (copy.to == kSpare) {
      spare = from.clone();
    } else {
      memory.select(0, copy.to).narrow(1, 0, used).copy_(from);
    }
  }
  return memory.narrow(0, 0, count());
}

// Every head is copied in the same way, so threads share the heads.
void RowMoves::copy_heads(const at::Tensor& memory, std::int64_t used) const {
  const auto bytes = static_cast<std::int64_t>(memory.element_size());
  const std::int64_t heads = memory.size(1);
  const std::int64_t head = memory.size(2) * memory.size(3) * bytes;
  const auto held = static_cast<std::size_t>(used * memory.size(3) * bytes);
  auto* const begin = static_cast<std::byte*>(memory.data_ptr());
  at::parallel_for(0, heads, 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<std::byte> spare(held);
    for (std::int64_t i = first; i < last; ++i) {
      const auto row_at = [&](std::int64_t row) {
        return row == kSpare ? spare.data() : begin + (row * heads + i) * head;
      };
      for (const Copy& copy : copies_) std::memcpy(row_at(copy.to), row_at(copy.from), held);
    }
  });
}

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
  const auto held =
      std::ranges::find_if(layers_, [](const KeyValue& layer) { return layer.key.defined(); });
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

namespace {

// Whether attention or the next token's position depends on the number of keys and not only on
// their positions.
bool counts_keys(const PositionScheme& scheme, std::span<const AttentionSettings> layers) {
  if (scheme.capabilities().draws_positions) return true;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].log_n == LogNScaling::encoder) return true;
    // Scores of a formula may know the length, too, but not in causal models, which have a cache.
    const auto bias = scheme.of_layer(static_cast<std::int64_t>(i)).capabilities().bias;
    if (bias && bias->on_length) return true;
  }
  return false;
}

// Bool [1, keys], true for keys that the token sees in some layer; undefined if a layer hides none.
at::Tensor seen(PositionSession& session, std::int64_t layers) {
  at::Tensor all;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const at::Tensor visible = session.mask(layer, session.whole());
    if (!visible.defined()) return {};
    all = all.defined() ? all.logical_or(visible) : visible;
  }
  return all;
}

}  // namespace

void forget_hidden_keys(AttentionCache& cache, const PositionScheme& scheme,
                        std::span<const AttentionSettings> layers, std::int64_t next) {
  if (layers.empty() || !cache.has_doubled() || counts_keys(scheme, layers)) return;
  PositionSession session({.scheme = scheme,
                           .attention = layers[0],
                           .layers = layers,
                           .queries = Positions::range(next, 1),
                           .keys = cache.positions(),
                           .causal = true});
  const at::Tensor mask = seen(session, static_cast<std::int64_t>(layers.size()));
  const at::Tensor row = mask.defined() ? mask[0].cpu() : at::Tensor();
  // The position of the next token is derived from the last key, so it must stay.
  std::int64_t last_read = 1;
  for (std::int64_t layer = 0; layer < std::ssize(layers); ++layer) {
    last_read = std::max(last_read, scheme.of_layer(layer).capabilities().token_inputs_before);
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < cache.length(); ++i) {
    const bool read = i + last_read >= cache.length();
    if (read || !row.defined() || row.const_data_ptr<bool>()[i]) kept.push_back(i);
  }
  cache.keep(kept);
}

}  // namespace roformer
