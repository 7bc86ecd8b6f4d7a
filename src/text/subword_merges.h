// The merges of byte-pair encoding, applied to one word after the other: the arithmetic of
// subword-nmt, apart from the vocabulary's ids.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace roformer {

// How the end of a word enters the merges.
enum class WordEnd {
  separate,  // version 0.1: a symbol of its own behind the last character
  attached,  // version 0.2 and fastBPE: part of the last character's symbol
};

struct SubwordPiece {
  std::string_view text;  // inside the word
  bool ends_word = false;
};

class SubwordMerges {
 public:
  // Pairs of symbols in the order of their rank; "</w>" marks the end of a word. Of a pair that is
  // listed twice the first place counts.
  SubwordMerges(const std::vector<std::pair<std::string, std::string>>& merges, WordEnd word_end);

  // Splits a word of valid UTF-8 without spaces. A piece that is not `known` is taken apart again
  // where a merge made it. The result points into the word.
  std::vector<SubwordPiece> split(std::string_view word,
                                  const std::function<bool(const SubwordPiece&)>& known) const;

 private:
  using Symbol = std::int32_t;  // kOther for one that no merge knows
  static constexpr Symbol kOther = -1;
  struct Merge {
    std::int32_t rank = 0;
    Symbol result = kOther;
  };
  struct Part {
    std::size_t begin = 0, end = 0;  // in the word
    bool ends_word = false;          // holds the mark of the end
    Symbol symbol = kOther;
  };

  WordEnd word_end_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::unordered_map<std::uint64_t, Merge> merges_;       // by pair
  std::unordered_map<std::string, std::size_t> left_of_;  // bytes of the left half, by result

  Symbol symbol_of(const std::string& text) const;
  std::vector<Part> merge(std::string_view word, bool ends_word) const;
  void take_apart(const SubwordPiece& piece, const std::function<bool(const SubwordPiece&)>& known,
                  std::vector<SubwordPiece>& pieces) const;
};

}  // namespace roformer
