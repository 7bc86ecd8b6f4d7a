#include "data/overlap.h"

#include <unordered_map>
#include <vector>

namespace roformer {
namespace {

// Calls take(hash) for every span of the split. The hash is a polynomial in an odd number, modulo
// 2^64, which moves on by one token in constant time.
template <class Take>
void for_each_span(const Dataset& dataset, Split split, std::size_t length, const Take& take) {
  constexpr std::uint64_t kBase = 0x9e3779b97f4a7c15;
  std::uint64_t leaving = 1;  // the factor of the token that leaves the span
  for (std::size_t i = 0; i < length; ++i) leaving *= kBase;
  std::vector<TokenId> ids;
  for (const Shard& shard : dataset.shards(split)) {
    const auto starts = shard.document_starts();
    for (std::size_t document = 0; document + 1 < starts.size(); ++document) {
      ids.resize(starts[document + 1] - starts[document]);
      shard.copy_tokens(starts[document], ids);
      std::uint64_t hash = 0;
      for (std::size_t i = 0; i < ids.size(); ++i) {
        hash = hash * kBase + static_cast<std::uint64_t>(ids[i]) + 1;
        if (i >= length) hash -= leaving * (static_cast<std::uint64_t>(ids[i - length]) + 1);
        if (i + 1 >= length) take(hash);
      }
    }
  }
}

}  // namespace

Overlap overlap_with_training(const Dataset& dataset, Split held_out, std::size_t length) {
  std::unordered_map<std::uint64_t, bool> met;  // whether the training set has the span
  for_each_span(dataset, held_out, length, [&](std::uint64_t hash) { met.emplace(hash, false); });
  Overlap overlap{.spans = met.size()};
  for_each_span(dataset, Split::train, length, [&](std::uint64_t hash) {
    const auto found = met.find(hash);
    if (found == met.end()) return;
    ++overlap.places;
    overlap.shared += found->second ? 0 : 1;
    found->second = true;
  });
  return overlap;
}

}  // namespace roformer
