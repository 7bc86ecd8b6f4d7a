// Byte-pair encoding as `subword-nmt` (Sennrich et al. 2016) and fastBPE apply it, with the codes
// and vocabulary that translation systems publish. Text must have the form that those systems read:
// tokenised (for example by Moses' rules), with spaces between words. A piece inside a word ends
// with the joiner "@@".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

// The two files of a published system.
struct SubwordFiles {
  // One merge a line, "left right"; versions 0.1 and 0.2 of subword-nmt, or fastBPE's, whose lines
  // have a count as well.
  std::string codes;
  std::string codes_location;  // named in errors
  // One piece a line, "piece count", with its joiner. The order gives the ids.
  std::string vocabulary;
  std::string vocabulary_location;
  std::int64_t threshold = 0;  // pieces that are rarer are split into smaller ones
};

// Joins both into the contents of one model file (JSON). Throws Error naming file:line.
std::string subword_model(const SubwordFiles& files);

// True if the contents say that they are such a model file.
bool is_subword_model(std::string_view contents);

// Ids 0 to 3 are [PAD], [UNK], [CLS] (begins a sentence), [SEP] (ends it); the vocabulary follows.
// Throws Error naming the location if a field is missing or wrong.
std::unique_ptr<Tokenizer> make_subword_tokenizer(std::string contents,
                                                  const std::string& location);

// How the end of a word enters the merges.
enum class WordEnd {
  separate,  // version 0.1: a separate symbol after the last character
  attached,  // version 0.2 and fastBPE: part of the last character's symbol
};

struct SubwordPiece {
  std::string_view text;  // inside the word
  bool ends_word = false;
};

// The merges of byte-pair encoding, applied to single words: the arithmetic of subword-nmt, without
// the vocabulary's ids.
class SubwordMerges {
 public:
  // Pairs of symbols in the order of their rank; "</w>" marks the end of a word. A pair that is
  // listed twice has its first rank.
  SubwordMerges(const std::vector<std::pair<std::string, std::string>>& merges, WordEnd word_end);

  // Splits a word of valid UTF-8 without spaces. A merged piece that is not `known` is split again.
  // The result points into the word.
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
  void merge_parts(std::vector<Part>& parts) const;
  void take_apart(const SubwordPiece& piece, const std::function<bool(const SubwordPiece&)>& known,
                  std::vector<SubwordPiece>& pieces) const;
};

}  // namespace roformer
