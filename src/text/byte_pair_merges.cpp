#include "text/byte_pair_merges.h"

#include <algorithm>
#include <functional>

namespace roformer {
namespace {

constexpr TokenId kJoined = -1;  // went into the symbol before it
constexpr std::int32_t kNoSymbol = -1;

struct MergeSymbol {
  TokenId id = 0;
  std::int32_t previous = kNoSymbol, next = kNoSymbol;
};

// A rule's rank and the place of its left symbol. The lowest is the earliest rule's leftmost place.
using MergeCandidate = std::uint64_t;

MergeCandidate candidate_of(std::int32_t rank, std::int32_t position) {
  return static_cast<MergeCandidate>(static_cast<std::uint32_t>(rank)) << 32 |
         static_cast<std::uint32_t>(position);
}

std::uint64_t pair_of(TokenId left, TokenId right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

}  // namespace

BytePairMerges::BytePairMerges(const std::vector<BytePairMerge>& merges, bool by_result) {
  rules_.reserve(merges.size());
  std::int32_t rank = 0;
  for (const BytePairMerge& merge : merges) {
    rules_[pair_of(merge.left, merge.right)] = {.rank = by_result ? merge.merged : rank++,
                                                .merged = merge.merged};
  }
  for (const BytePairMerge& merge : merges) {
    if (!by_result) results_.push_back(merge.merged);
  }
}

const BytePairMerges::Rule* BytePairMerges::find(TokenId left, TokenId right) const {
  const auto found = rules_.find(pair_of(left, right));
  return found == rules_.end() ? nullptr : &found->second;
}

void BytePairMerges::apply(std::vector<TokenId>& ids) const {
  std::vector<MergeSymbol> symbols(ids.size());
  std::vector<MergeCandidate> heap;
  const auto count = static_cast<std::int32_t>(ids.size());
  const auto at = [&symbols](std::int32_t i) -> MergeSymbol& {
    return symbols[static_cast<std::size_t>(i)];
  };
  bool begun = false;
  const auto consider = [&](std::int32_t position) {
    const MergeSymbol& symbol = at(position);
    if (symbol.next == kNoSymbol) return;
    if (const Rule* const rule = find(symbol.id, at(symbol.next).id)) {
      heap.push_back(candidate_of(rule->rank, position));
      if (begun) std::push_heap(heap.begin(), heap.end(), std::greater<>());
    }
  };
  for (std::int32_t i = 0; i < count; ++i) {
    at(i) = {.id = ids[static_cast<std::size_t>(i)],
             .previous = i - 1,
             .next = i + 1 < count ? i + 1 : kNoSymbol};
  }
  for (std::int32_t i = 0; i < count; ++i) consider(i);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  begun = true;

  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto position = static_cast<std::int32_t>(heap.back() & 0xFFFFFFFF);
    const TokenId merged = result_of(static_cast<std::int32_t>(heap.back() >> 32));
    heap.pop_back();
    MergeSymbol& left = at(position);
    if (left.id == kJoined || left.next == kNoSymbol) continue;
    // The neighbours may have changed by now. If they still give the same piece, they are joined,
    // as in Hugging Face's tokenizers.
    MergeSymbol& right = at(left.next);
    const Rule* const rule = find(left.id, right.id);
    if (rule == nullptr || rule->merged != merged) continue;
    left.id = merged;
    left.next = right.next;
    right.id = kJoined;
    if (left.next != kNoSymbol) at(left.next).previous = position;
    if (left.previous != kNoSymbol) consider(left.previous);
    consider(position);
  }
  ids.clear();
  for (const MergeSymbol& symbol : symbols) {
    if (symbol.id != kJoined) ids.push_back(symbol.id);
  }
}

}  // namespace roformer
