// A byte-pair encoding as Hugging Face's tokenizers compute it: a word begins as its characters, or
// as its bytes, and the merges join them. A character without a piece becomes the pieces of its
// bytes ("<0xE2>"), the unknown piece, or nothing.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/byte_pair_merges.h"
#include "text/word_splitter.h"

namespace roformer {

struct BpeOptions {
  bool of_bytes = false;           // its pieces are written in the letters of ByteAlphabet
  bool whole_words_first = false;  // a word that is a piece is taken whole, without merges
  bool joins_unknown = false;      // unknown neighbours become one token
  bool byte_fallback = false;
  bool equal_ranks = false;  // merges with the same result are equally early, as in tiktoken
  TokenId unknown = -1;      // -1: none
  std::string marker;        // the character for a space; empty: none
};

// `pieces`: by id; `usable`: whether a text may become that piece.
std::unique_ptr<WordSplitter> make_bpe_model(const BpeOptions& options,
                                             const std::vector<std::string>& pieces,
                                             const std::vector<bool>& usable,
                                             const std::vector<BytePairMerge>& merges);

}  // namespace roformer
