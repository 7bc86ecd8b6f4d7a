#include "metrics/ngram_trie.h"

#include <algorithm>

namespace roformer {

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

void NgramTrie::clear() {
  edges_.clear();
  counts_.assign(1, Counts{});
  references_ = 0;
}

void NgramTrie::add_reference(std::u32string_view symbols) {
  ++references_;
  for (std::size_t start = 0; start < symbols.size(); ++start) {
    const std::size_t end = std::min(symbols.size(), start + orders_);
    std::uint32_t node = 0;
    for (std::size_t i = start; i < end; ++i) {
      node = edges_.add_child(node, symbols[i]);
      counts_.resize(edges_.nodes());
      Counts& ngram = counts_[node];
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
      node = edges_.child(node, symbols[i]);
      if (node == 0) break;  // nor does any longer n-gram occur
      if (counts_[node].hypothesis++ < counts_[node].reference) ++result[i - start];
    }
  }
  return result;
}

}  // namespace roformer
