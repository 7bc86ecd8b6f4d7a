// The rules that a sentence pair must pass to enter a training set, and how many pairs each of them
// removed. A pair is counted at the first rule that it breaks, in the order of PairRule.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "data/pair_source.h"
#include "text/characters.h"

namespace roformer {

struct PairRules {
  std::int64_t shortest_words = 1;  // each side has at least so many (words apart by white space)
  std::int64_t longest_words = 0;   // and at most so many; 0: any
  std::int64_t longest_pieces = 0;  // likewise of the tokenizer's; 0: any
  double length_ratio = 0;          // pieces of the longer side / the shorter one's at most; 0: any
  bool remove_identical = false;    // both sides the same text
  bool remove_duplicates = false;   // a pair met before, in any source
  double script_share = 0;  // of the letters of each side, in its language's script, at least
};

// Calls visit(name, value) for each field; `Rules` is PairRules, const or not. The names are the keys
// of recipes and of dataset.json.
template <class Rules, class Visit>
void for_each_field(Rules& rules, Visit visit) {
  visit("shortest_words", rules.shortest_words);
  visit("longest_words", rules.longest_words);
  visit("longest_pieces", rules.longest_pieces);
  visit("length_ratio", rules.length_ratio);
  visit("remove_identical", rules.remove_identical);
  visit("remove_duplicates", rules.remove_duplicates);
  visit("script_share", rules.script_share);
}

enum class PairRule {
  empty,
  too_short,
  too_long,
  identical,
  wrong_script,
  duplicate,
  too_many_pieces,
  length_ratio
};
inline constexpr std::size_t kPairRules = 8;
// The name in dataset.json, "too_short".
std::string_view to_string(PairRule rule);
// What it means with these rules, "fewer than 4 words".
std::string describe(PairRule rule, const PairRules& rules);

struct PairCounts {
  std::uint64_t read = 0;
  std::uint64_t unmatched = 0;  // texts of one language only, never a pair
  std::uint64_t invalid = 0;    // pairs with malformed UTF-8, which was replaced by U+FFFD
  std::array<std::uint64_t, kPairRules> removed{};  // by PairRule
  std::uint64_t kept = 0;

  std::uint64_t& operator[](PairRule rule) { return removed[static_cast<std::size_t>(rule)]; }
  std::uint64_t operator[](PairRule rule) const { return removed[static_cast<std::size_t>(rule)]; }
};
PairCounts operator+(PairCounts left, const PairCounts& right);

// The text as a tokenizer gets it: valid UTF-8, white space at the ends cut off, line ends and tabs
// inside made spaces. `replaced` grows by the malformed sequences.
std::string clean_sentence(std::string_view text, std::uint64_t& replaced);

// The rules about the text, which come before the tokenizer. Remembers the pairs that passed, one
// hash each, where duplicates are removed.
class PairTextRules {
 public:
  // Throws Error (usage) for a language whose script is not known where the rules need it.
  PairTextRules(const PairRules& rules, const PairLanguages& languages);

  // The rule that removes the pair of cleaned texts; nothing for one that passes.
  std::optional<PairRule> broken_by(std::string_view source, std::string_view target);

 private:
  PairRules rules_;
  LanguageScript source_script_;
  LanguageScript target_script_;
  std::unordered_set<std::uint64_t> seen_;
};

// The rules about the numbers of pieces.
std::optional<PairRule> broken_by_pieces(const PairRules& rules, std::size_t source,
                                         std::size_t target);

std::int64_t count_words(std::string_view text);

}  // namespace roformer
