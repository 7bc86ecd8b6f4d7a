// BERT's WordPiece: the text is cleaned and split into words (bert_normalization.h), each word is
// then covered greedily by the longest vocabulary entries; "##" marks an entry that continues a
// word. A word of more than 100 characters, or one that cannot be covered, becomes [UNK]. Added
// tokens are found before the text is split.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/tokenizer.h"
#include "text/wordpiece_model.h"

namespace roformer {

inline constexpr std::string_view kContinuation = "##";

// True when the contents look like a vocabulary: text with a line "[UNK]".
bool is_wordpiece_vocabulary(std::string_view contents);

struct WordPieceOptions {
  std::string contents;  // of a vocab.txt, or wordpiece_contents() of a model
  bool cased = false;    // of a vocab.txt; false: lower case without accents
  std::string location;  // named in errors
};

// Throws Error when the contents are not a vocabulary.
std::unique_ptr<Tokenizer> make_wordpiece_tokenizer(WordPieceOptions options);

// What a tokenizer of kind `wordpiece` is made of, for folders of other programs.
WordPieceModel wordpiece_model(const Tokenizer& tokenizer);

}  // namespace roformer
