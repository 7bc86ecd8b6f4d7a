// Splits long texts as SentencePiece's library does. The library takes time that grows with the
// square of a run of unknown characters, and hundreds of bytes of memory for each byte of a word:
// minutes for a line of some megabytes without spaces. This takes linear time (n log n for BPE) and
// little memory, with the same normalisation, the same arithmetic in float32 and so the same ids.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

class SentencePieceSplitter {
 public:
  // `model`: a file that the library has loaded. nullptr for a model with something that is not
  // computed here: words or characters as pieces, symbols of the user's, a space after each word,
  // or BPE whose pieces have equal scores.
  static std::unique_ptr<SentencePieceSplitter> of(std::string_view model);
  virtual ~SentencePieceSplitter() = default;

  // Appends the library's ids for valid UTF-8 without NUL. `continues`: without the space that some
  // models put before a text. Safe to call from several threads.
  virtual void split(std::string_view text, bool continues, std::vector<TokenId>& ids) const = 0;
};

}  // namespace roformer
