// A SentencePiece model whose pieces are numbered by a separate vocabulary. Marian's translators
// (Opus-MT) have a model for each language and one vocabulary for both.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace roformer {

struct MarianVocabulary {
  std::vector<std::string> pieces;  // by id
  SpecialTokens special;            // mask: none
  bool language_codes = true;       // a text may begin with a language's code, ">>fr<<"
};

// Joins the model and the vocabulary into the contents of one file.
std::string marian_model(const MarianVocabulary& vocabulary, std::string_view sentencepiece);

// True if the contents say that they are such a file.
bool is_marian_model(std::string_view contents);

// If a text begins with a language's code and the vocabulary has codes, the code's id comes first.
// Pieces that the vocabulary lacks are unknown. Throws Error naming the location if the contents are incomplete.
std::unique_ptr<Tokenizer> make_marian_tokenizer(std::string contents, const std::string& location);

// The SentencePiece model of such a tokenizer.
std::string_view sentencepiece_of(const Tokenizer& marian);

}  // namespace roformer
