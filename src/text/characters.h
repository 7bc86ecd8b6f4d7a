// Unicode's data about characters: the general category, whether a script has no spaces between
// words, and which scripts a language uses.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// The general category in the regular expressions of Hugging Face's tokenizers (Unicode 16),
// whatever ICU's version: a mask of U_GC_... with one bit.
std::uint32_t code_point_category(char32_t c);

// The script in those expressions, as ICU's number; -1 for a script that ICU does not know.
std::int32_t code_point_script(char32_t c);

// \w in the regular expressions of Rust's library, with which the tokenizers find whole words:
// letters, marks, digits and connectors.
bool is_word_character(char32_t c);
// \w in those of Oniguruma, with which they cut text.
bool is_pattern_word_character(char32_t c);

// Whether it is a mark (category M) in the tables with which Hugging Face's normalizers strip
// accents, those of Unicode 9.
bool is_mark_of_unicode_9(char32_t c);

// Whether the first, or the last, character of the bytes is a letter of a script without spaces
// between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese and the like. In such a script a
// piece of a vocabulary is the closest unit to a word. If the bytes end inside a character, its
// first bytes decide.
bool begins_unspaced(std::string_view bytes);
bool ends_unspaced(std::string_view bytes);

// The scripts of a language, and how much of a text they cover. This is a crude but reliable way to
// find a sentence of the wrong language.
class LanguageScript {
 public:
  // A language's code, "de", "zh", "pt-br", "sr-latn"; Unicode's data (CLDR) say its scripts.
  explicit LanguageScript(const std::string& language);

  // False if Unicode's data do not include the language.
  bool known() const { return !scripts_.empty(); }
  // The share of letters of valid UTF-8 that belong to the language's scripts. Letters shared by
  // many scripts count as belonging. 1 for a text without letters.
  double share(std::string_view text) const;

 private:
  std::vector<std::int32_t> scripts_;
};

}  // namespace roformer
