#include "metrics/ngram_trie.h"

#include <algorithm>
#include <bit>

namespace roformer {
namespace {

constexpr std::size_t kFirstSlots = 1 << 12;

}  // namespace

std::u32string WordNumbers::numbers(const std::vector<std::string_view>& words) {
  std::u32string result;
  result.reserve(words.size());
  for (const std::string_view word : words) {
    auto found = numbers_.find(word);
    if (found == numbers_.end()) {
      found = numbers_.emplace(std::string(word), static_cast<char32_t>(numbers_.size())).first;
    }
    result.push_back(found->second);
  }
  return result;
}

NgramTrie::NgramTrie(std::size_t orders) : orders_(orders), slots_(kFirstSlots) {
  clear();
}

void NgramTrie::clear() {
  nodes_.assign(1, Node{});
  references_ = 0;
  if (++generation_ == 0) {  // after four thousand million sentences
    std::ranges::fill(slots_, Slot{});
    generation_ = 1;
  }
}

void NgramTrie::add_reference(std::u32string_view symbols) {
  ++references_;
  for (std::size_t start = 0; start < symbols.size(); ++start) {
    const std::size_t end = std::min(symbols.size(), start + orders_);
    std::uint32_t node = 0;
    for (std::size_t i = start; i < end; ++i) {
      node = child_or_new(node, symbols[i]);
      Node& ngram = nodes_[node];
      if (ngram.last_reference != references_) {
        ngram.last_reference = references_;
        ngram.in_this_reference = 0;
      }
      ngram.reference = std::max(ngram.reference, ++ngram.in_this_reference);
    }
  }
}

std::vector<std::int64_t> NgramTrie::matches(std::u32string_view symbols) {
  std::vector<std::int64_t> result(orders_);
  for (std::size_t start = 0; start < symbols.size(); ++start) {
    const std::size_t end = std::min(symbols.size(), start + orders_);
    std::uint32_t node = 0;
    for (std::size_t i = start; i < end; ++i) {
      const Slot& slot = slot_of(node, symbols[i]);
      if (slot.generation != generation_) break;  // nor does any longer n-gram occur
      node = slot.node;
      if (nodes_[node].hypothesis++ < nodes_[node].reference) ++result[i - start];
    }
  }
  return result;
}

NgramTrie::Slot& NgramTrie::slot_of(std::uint32_t parent, char32_t symbol) {
  const std::uint64_t key = std::uint64_t{parent} << 32 | symbol;
  const std::size_t mask = slots_.size() - 1;
  std::size_t index = (key * 0x9E3779B97F4A7C15ULL) >> (64 - std::bit_width(mask));
  while (slots_[index].generation == generation_ && slots_[index].key != key) {
    index = (index + 1) & mask;
  }
  return slots_[index];
}

std::uint32_t NgramTrie::child_or_new(std::uint32_t parent, char32_t symbol) {
  Slot& slot = slot_of(parent, symbol);
  if (slot.generation == generation_) return slot.node;
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  slot = {.key = std::uint64_t{parent} << 32 | symbol, .node = node, .generation = generation_};
  nodes_.emplace_back();
  if (2 * nodes_.size() > slots_.size()) grow();
  return node;
}

void NgramTrie::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.generation != generation_) continue;
    slot_of(static_cast<std::uint32_t>(slot.key >> 32), static_cast<char32_t>(slot.key)) = slot;
  }
}

}  // namespace roformer
