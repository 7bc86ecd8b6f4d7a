// The model of a tokenizer.json, which splits a word into pieces of its vocabulary.
#pragma once

#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

class WordSplitter {
 public:
  virtual ~WordSplitter() = default;

  // Appends the ids of a word, which is valid UTF-8 or, for vocabularies of bytes, any bytes. Safe
  // to call from several threads.
  virtual void split(std::string_view word, std::vector<TokenId>& ids) const = 0;
  // Whether a word may be cut before each marker of a space that follows another character: the
  // parts then have the pieces that the word has.
  virtual bool splits_at_markers() const = 0;
};

}  // namespace roformer
