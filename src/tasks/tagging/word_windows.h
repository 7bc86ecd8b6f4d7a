// Words as pieces of a tokenizer, in windows that a model can read. The first piece of a word
// represents it: there the tag is learned and predicted.
//
// A sentence that is longer than a window is divided into overlapping ones. The next window begins
// half a window later, at a word, and the last one ends with the sentence. Each word is read in the
// window in which its nearer neighbours to the left and right reach farthest; the ends of the
// sentence cut nothing off. So every word has one tag.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/text_pairs.h"
#include "text/tokenizer.h"

namespace roformer {

// [CLS] pieces [SEP], and the words that are read in it.
struct WordWindow {
  EncodedText text;
  std::vector<std::int64_t> places;  // [N] the first piece of each word, in text.ids
  std::vector<std::int64_t> words;   // [N] the number of each word in its sentence
};

class WordEncoder {
 public:
  // The tokenizer has [CLS] and [SEP]. `length`: tokens of a window, at least 3.
  WordEncoder(const Tokenizer& tokenizer, std::int64_t length);

  // The windows of a sentence with at least one word. Every word is in `words` of exactly one.
  std::vector<WordWindow> windows(const std::vector<std::string>& words) const;
  // The first window with as many words as fit; text.cut says whether some do not.
  WordWindow beginning(const std::vector<std::string>& words) const;

 private:
  const Tokenizer& tokenizer_;
  std::int64_t room_;  // pieces in a window
  bool with_spaces_;   // words after the first are encoded with the blank before them

  using Pieces = std::vector<std::vector<TokenId>>;  // of each word, at least one
  Pieces pieces_of(const std::vector<std::string>& words) const;
  WordWindow window(const Pieces& pieces, std::size_t begin, std::size_t end) const;
};

}  // namespace roformer
