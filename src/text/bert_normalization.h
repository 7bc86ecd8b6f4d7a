// BERT's normalisation of text before the lookup of words, as a table over all code points. It
// cleans the text and, depending on the model, puts spaces around Chinese characters, decomposes
// canonically and drops the nonspacing marks, and lowers case. The same rules say where words end.
// Follows the reference of Devlin et al. 2019 (BasicTokenizer) as Hugging Face's BertNormalizer and
// BertPreTokenizer implement it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// The steps that a model takes besides cleaning, each independent of the others.
struct BertRules {
  bool lower_case = true;
  bool strip_accents = true;
  bool chinese_characters = true;  // each is a word

  bool operator==(const BertRules&) const = default;
};
inline constexpr BertRules kUncasedBert = {};
inline constexpr BertRules kCasedBert = {.lower_case = false, .strip_accents = false};

// Punctuation of Unicode 8, and the symbols of ASCII.
bool is_bert_punctuation(char32_t c);

class BertNormalization {
 public:
  enum class Role : std::uint8_t {
    letter,       // continues a word
    space,        // ends a word and vanishes
    punctuation,  // ends a word and is one itself
    dropped,      // vanishes without ending a word
    plain,        // depends on its neighbours: the text needs plain_words()
  };
  struct Entry {
    Role role = Role::letter;
    std::uint8_t length = 0;   // bytes of the replacement; 0: the code point stays unchanged
    std::uint32_t offset = 0;  // of the replacement
  };

  // Each table is made once, on first use.
  static const BertNormalization& of(const BertRules& rules);
  static const BertNormalization& cased() { return of(kCasedBert); }
  static const BertNormalization& uncased() { return of(kUncasedBert); }

  const Entry& entry(char32_t code_point) const { return entries_[code_point]; }
  // The replacement of a code point whose UTF-8 is `original`.
  std::string_view written(const Entry& entry, std::string_view original) const {
    if (entry.length == 0) return original;
    return {replacements_.data() + entry.offset, entry.length};
  }

  // The words of valid UTF-8, found by operations on the whole string that follow the definition
  // step by step. Correct for every text, but slow.
  std::vector<std::string> plain_words(std::string_view text) const;
  // The text that these words are cut from.
  std::string normalized(std::string_view text) const;

 private:
  BertRules rules_;
  std::vector<Entry> entries_;
  std::string replacements_;

  explicit BertNormalization(const BertRules& rules);
  void add_replacement(char32_t c, Entry& entry);
};

}  // namespace roformer
