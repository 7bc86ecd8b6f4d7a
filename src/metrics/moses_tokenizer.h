// The tokenizer of the Moses toolkit for English and German, and the splitting of compounds, as the
// older BLEU tables need them: tokenizer.perl -l en|de, then rich-text -> rich ##AT##-##AT## text.
// Equal to the Perl scripts on valid UTF-8, but for a space at the end of a few lines.
#pragma once

#include <string>
#include <string_view>

namespace roformer {

enum class MosesLanguage { english, german };

// Tokens between single spaces; & | < > ' " [ ] come out as entities, as from the script.
std::string moses_tokenize(std::string_view line, MosesLanguage language);

// Puts each hyphen between two characters that are no spaces apart: the Perl one-liner
// s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g, which works on bytes and without overlap, so that a-b-c keeps
// its second hyphen.
std::string split_compounds(std::string_view tokens);

enum class MosesPrefix {
  none,
  always,         // a period behind it belongs to it
  before_number,  // only where a number follows
};
// What the toolkit's list of the language says of a word that a period follows.
MosesPrefix moses_prefix(std::string_view word, MosesLanguage language);

}  // namespace roformer
