// BERT's WordPiece: the text is cleaned and split into words (bert_normalization.h), each word is
// then covered greedily by the longest vocabulary entries; "##" marks an entry that continues a
// word. A word of more than 100 characters, or one that cannot be covered, becomes [UNK].
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace roformer {

inline constexpr std::string_view kContinuation = "##";

// True when the contents look like a vocabulary: text with a line "[UNK]".
bool is_wordpiece_vocabulary(std::string_view contents);

struct WordPieceOptions {
  std::string contents;  // of a vocab.txt: one entry a line, the line's number is the id
  bool cased = false;    // false: lower case without accents
  std::string location;  // named in errors
};

// Throws Error when the contents are not a vocabulary.
std::unique_ptr<Tokenizer> make_wordpiece_tokenizer(WordPieceOptions options);

}  // namespace roformer
