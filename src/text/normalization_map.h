// The table of normalisation rules inside a SentencePiece model, which tokenizer.json calls
// "Precompiled": a double-array trie in the format of Darts-clone, and the texts that replace what
// the trie matches. SentencePiece's library and Hugging Face's follow the table without checking
// it, so a damaged or hostile one is refused here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

class NormalizationMap {
 public:
  // Nothing if the sizes in the table contradict each other, or if some text would lead outside of
  // it. An empty table is one without rules.
  static std::optional<NormalizationMap> read(std::string_view table);

  // Whether a rule matches a text with a space in it (but for a space alone), or writes the marker
  // U+2581 that a space becomes.
  bool reaches_over_spaces() const;

  // Valid UTF-8 as Hugging Face's tokenizers normalise it. They take a grapheme of up to five bytes
  // as a whole, and replace it by what the shortest rule that matches its beginning writes. They
  // go through longer graphemes, and those without a rule, character by character.
  std::string apply(std::string_view text) const;

 private:
  std::vector<std::uint32_t> units_;
  std::string texts_;  // each ends in a zero
  // Units by the base that reaches them.
  std::vector<std::uint32_t> children_, first_child_;

  bool is_value(std::size_t i) const { return (units_[i] >> 31) != 0; }
  bool has_leaf(std::size_t i) const { return ((units_[i] >> 8) & 1) != 0; }
  std::size_t base(std::size_t i) const {
    const std::uint32_t unit = units_[i];
    return i ^ static_cast<std::size_t>((unit >> 10) << ((unit & (1u << 9)) >> 6));
  }
  std::size_t reached_from(std::size_t i) const { return i ^ (units_[i] & 0xff); }
  // The text of the leaf that a unit reaches.
  std::string_view text_at(std::size_t unit) const;
  bool keeps_space(std::size_t unit) const;
  bool is_safe() const;
  void list_children();
  bool count_matches() const;
  // What the shortest rule writes that matches the beginning of the text.
  std::optional<std::string_view> replacement(std::string_view text) const;
};

}  // namespace roformer
