// What Unicode says of characters: the general category, whether a script is written without spaces
// between words, and which scripts a language is written in.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// The general category as the regular expressions of Hugging Face's tokenizers know it (Unicode
// 16), whatever the version of ICU: a mask of U_GC_... with one bit.
std::uint32_t code_point_category(char32_t c);

// A regular expression's \w: letters, marks, digits and connectors.
bool is_word_character(char32_t c);

// Whether the first, or the last, character of the bytes is a letter of a script that is written
// without spaces: Chinese, Japanese, Thai, Lao, Khmer, Burmese and the like. There a piece of a
// vocabulary is the nearest thing to a word. The bytes may end inside a character, which is then
// judged by its first bytes.
bool begins_unspaced(std::string_view bytes);
bool ends_unspaced(std::string_view bytes);

// The scripts that a language is written in, and how much of a text is written in them: the crudest
// and surest way to find a sentence of the wrong language.
class LanguageScript {
 public:
  // A language's code, "de", "zh", "pt-br", "sr-latn"; Unicode's data (CLDR) say its scripts.
  explicit LanguageScript(const std::string& language);

  // False where Unicode's data know no such language.
  bool known() const { return !scripts_.empty(); }
  // Share of the letters of valid UTF-8 that are of the language's scripts; letters that many
  // scripts share count as such. 1 for a text without letters.
  double share(std::string_view text) const;

 private:
  std::vector<std::int32_t> scripts_;
};

}  // namespace roformer
