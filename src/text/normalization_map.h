// The rules of normalisation in a SentencePiece model or a tokenizer.json (`precompiled_charsmap`):
// a double-array trie in the format of Darts-clone, whose leaves give the text that replaces a
// match. At each place of a text the longest match counts.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace roformer {

class NormalizationMap {
 public:
  // Points into `map`. Empty if the sizes in the map contradict each other. Call is_safe() before
  // anything else.
  static std::optional<NormalizationMap> of(std::string_view map);

  // Whether every text is normalised within the tables.
  bool is_safe();
  // Whether a rule matches a text with a space in it (but for a space alone), or writes the marker
  // that a space becomes.
  bool reaches_over_spaces() const;
  // Calls action(matched text, its replacement) for every rule. False if there are so many that
  // nobody can have meant them: a damaged table may have more than it has bytes.
  bool for_each_rule(const std::function<void(const std::string&, std::string_view)>& action) const;

  // The longest rule that matches the beginning of the text, as SentencePiece's library applies
  // them; empty if there is none. The text holds no NUL.
  struct Match {
    std::size_t length = 0;  // bytes of the text
    std::string_view written;
  };
  Match longest(std::string_view text) const;

  // Valid UTF-8 as Hugging Face's tokenizers normalise it. They take a grapheme of up to five bytes
  // as a whole, and replace it by what the shortest rule that matches its beginning writes. They go
  // through longer graphemes, and those without a rule, character by character.
  std::string apply(std::string_view text) const;

 private:
  NormalizationMap(std::vector<std::uint32_t> units, std::string_view texts)
      : units_(std::move(units)), texts_(texts) {}

  std::vector<std::uint32_t> units_;
  std::string_view texts_;
  // Units by the base that reaches them.
  std::vector<std::uint32_t> children_, first_child_;
  std::vector<int> matches_;  // the most leaves on a path from a unit, its own included

  bool is_value(std::size_t i) const { return (units_[i] >> 31) != 0; }
  bool has_leaf(std::size_t i) const { return ((units_[i] >> 8) & 1) != 0; }
  std::size_t base(std::size_t i) const {
    const std::uint32_t unit = units_[i];
    return i ^ static_cast<std::size_t>((unit >> 10) << ((unit & (1u << 9)) >> 6));
  }
  std::size_t reached_from(std::size_t i) const { return i ^ (units_[i] & 0xff); }
  // Where the text of a unit's leaf begins in texts_.
  std::size_t text_of(std::size_t i) const { return units_[base(i)] & ~(1u << 31); }

  // Calls action(length, replacement) for the rules that match the beginning of the text, the
  // shortest first, until it returns false.
  template <class Action>
  void for_each_match(std::string_view text, Action action) const;
  // The replacement by the shortest rule that matches the beginning of the text.
  std::optional<std::string_view> replacement(std::string_view text) const;
  bool keeps_space(std::size_t unit) const;
  void list_children();
  bool count_matches();
};

}  // namespace roformer
