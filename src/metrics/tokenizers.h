// The tokenizers of translation metrics: sacreBLEU's, equal to it character by character, and the
// one of the Moses toolkit. Each takes a line of plain text and returns it with its tokens between
// spaces; sacreBLEU's own slips are kept, because published scores have them.
#pragma once

#include <string>
#include <string_view>

namespace roformer {

// mteval-v13a.pl, WMT's: punctuation of ASCII, but not inside numbers.
std::string tokenize_13a(std::string_view line);

// mteval-v14.pl --international-tokenization: punctuation and symbols of all scripts.
std::string tokenize_international(std::string_view line);

// Every character that is no space is a token.
std::string tokenize_characters(std::string_view line);

// Every Chinese character is a token; the rest is split as 13a does.
std::string tokenize_chinese(std::string_view line);

// Tercom's, for TER.
struct TercomRules {
  bool normalized = false;  // parts punctuation from words, decodes entities
  bool no_punctuation = false;
  bool asian_support = false;  // the two above reach East Asian characters, too
  bool case_sensitive = false;
};
std::string tokenize_tercom(std::string_view line, const TercomRules& rules);

// The Moses toolkit's for English and German, as the older BLEU tables need it: tokenizer.perl -l
// en|de. Equal to the Perl script on valid UTF-8, but for a space at the end of a few lines.
enum class MosesLanguage { english, german };

// Tokens between single spaces; & | < > ' " [ ] come out as entities, as from the script.
std::string moses_tokenize(std::string_view line, MosesLanguage language);

// rich-text -> rich ##AT##-##AT## text: parts each hyphen between two characters that are no
// spaces, as the Perl one-liner s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g, which works on bytes and
// without overlap, so that a-b-c keeps its second hyphen.
std::string split_compounds(std::string_view tokens);

enum class MosesPrefix {
  none,
  always,         // a period after it belongs to it
  before_number,  // only where a number follows
};
// What the toolkit's list of the language says of a word that a period follows.
MosesPrefix moses_prefix(std::string_view word, MosesLanguage language);

}  // namespace roformer
