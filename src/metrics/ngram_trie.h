// Counts the n-grams, of all orders at once, that a hypothesis shares with its references. Symbols
// are any 32-bit values: characters, or the numbers that WordNumbers gives to words.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text_hash.h"
#include "text/piece_trie.h"

namespace roformer {

// A number for each word, the same for the same word as long as the object lives.
class WordNumbers {
 public:
  std::u32string numbers(const std::vector<std::string_view>& words);

 private:
  std::unordered_map<std::string, char32_t, TextHash, std::equal_to<>> numbers_;
};

// n-grams of a sequence of `length` symbols.
inline std::int64_t ngram_count(std::size_t length, std::size_t order) {
  return length < order ? 0 : static_cast<std::int64_t>(length - order + 1);
}

class NgramTrie {
 public:
  explicit NgramTrie(std::size_t orders) : orders_(orders) {}

  // Forgets all references.
  void clear();
  // An n-gram counts as often as in the reference that has it most often.
  void add_reference(std::u32string_view symbols);
  // For each order 1..orders, the n-grams of the hypothesis that have a partner in the references.
  // Once after each clear().
  std::vector<std::int64_t> matches(std::u32string_view symbols);

 private:
  struct Counts {  // of an n-gram
    std::int32_t reference = 0, hypothesis = 0, in_this_reference = 0;
    std::uint32_t last_reference = 0;
  };

  std::size_t orders_;
  TrieEdges edges_;
  std::vector<Counts> counts_ = std::vector<Counts>(1);  // by node; node 0 is the empty n-gram
  std::uint32_t references_ = 0;
};

}  // namespace roformer
