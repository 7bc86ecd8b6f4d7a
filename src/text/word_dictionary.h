// A dictionary of Chinese words in jieba's format, and the segmentation of a text into its most
// probable words: the way to cut a run of characters with the largest product of relative
// frequencies, without a model of unknown words. Equal to `jieba.cut(text, HMM=False)` of
// jieba 0.42.1, whose dictionary Debian's python3-jieba carries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/piece_trie.h"

namespace roformer {

class WordDictionary {
 public:
  // One word per line with its count: "word count", optionally with more text after a second space.
  // Throws Error naming location:line for a line without a count and for text that is not UTF-8.
  WordDictionary(std::string_view contents, const std::string& location);

  // Appends to `ends` the position, in bytes, where each word of valid UTF-8 ends. Each white space
  // or punctuation character is also a word.
  void cut(std::string_view text, std::vector<std::size_t>& ends) const;

  std::int64_t words() const { return words_; }

 private:
  static constexpr double kNoWord = 1;  // of a prefix; logarithms of shares are 0 at most

  TrieEdges edges_;              // of all words, by character
  std::vector<double> weights_;  // of nodes: the logarithm of the word's share, or kNoWord
  double unknown_weight_ = 0;    // of a character that is no word: that of a count of 1
  std::int64_t words_ = 0;

  void cut_block(const std::vector<char32_t>& characters, std::vector<std::size_t>& ends) const;
};

}  // namespace roformer
