#include "data/pair_rules.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr std::array<std::string_view, kPairRules> kNames = {
    "empty",        "too_short", "too_long",        "identical",
    "wrong_script", "duplicate", "too_many_pieces", "length_ratio"};

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

std::string_view to_string(PairRule rule) {
  return kNames[static_cast<std::size_t>(rule)];
}

std::string describe(PairRule rule, const PairRules& rules) {
  switch (rule) {
    case PairRule::empty:
      return "a side is empty";
    case PairRule::too_short:
      return fmt::format("fewer than {} words", rules.shortest_words);
    case PairRule::too_long:
      return fmt::format("more than {} words", rules.longest_words);
    case PairRule::identical:
      return "both sides the same";
    case PairRule::wrong_script:
      return fmt::format("under {:g} % of the letters of the language's script",
                         100 * rules.script_share);
    case PairRule::duplicate:
      return "met before";
    case PairRule::too_many_pieces:
      return fmt::format("more than {} pieces", rules.longest_pieces);
    case PairRule::length_ratio:
      return fmt::format("one side more than {:g} times as long", rules.length_ratio);
  }
  ROFORMER_ASSERT(false);
  return {};
}

PairCounts operator+(PairCounts left, const PairCounts& right) {
  left.read += right.read;
  left.unmatched += right.unmatched;
  left.invalid += right.invalid;
  left.kept += right.kept;
  for (std::size_t i = 0; i < kPairRules; ++i) left.removed[i] += right.removed[i];
  return left;
}

std::string clean_sentence(std::string_view text, std::uint64_t& replaced) {
  std::string storage;
  std::string_view valid = repair_utf8(text, storage, replaced);
  while (!valid.empty() && is_space(valid.front())) valid.remove_prefix(1);
  while (!valid.empty() && is_space(valid.back())) valid.remove_suffix(1);
  std::string clean(valid);
  std::ranges::replace_if(
      clean, [](char c) { return is_space(c) || c == '\0'; }, ' ');
  return clean;
}

std::int64_t count_words(std::string_view text) {
  std::int64_t words = 0;
  bool in_word = false;
  for (const char c : text) {
    words += !in_word && !is_space(c);
    in_word = !is_space(c);
  }
  return words;
}

PairTextRules::PairTextRules(const PairRules& rules, const PairLanguages& languages)
    : rules_(rules), source_script_(languages.source), target_script_(languages.target) {
  if (rules.script_share <= 0) return;
  for (const auto& [script, language] : {std::pair(&source_script_, &languages.source),
                                         std::pair(&target_script_, &languages.target)}) {
    if (script->known()) continue;
    throw_usage("script_share", fmt::format("the script of language '{}' is not known", *language),
                "name languages by their codes, as en, de, zh, or leave the rule out");
  }
}

std::optional<PairRule> PairTextRules::broken_by(std::string_view source, std::string_view target) {
  if (source.empty() || target.empty()) return PairRule::empty;
  const auto [fewest, most] = std::minmax({count_words(source), count_words(target)});
  if (fewest < rules_.shortest_words) return PairRule::too_short;
  if (rules_.longest_words > 0 && most > rules_.longest_words) return PairRule::too_long;
  if (rules_.remove_identical && source == target) return PairRule::identical;
  if (rules_.script_share > 0 && (source_script_.share(source) < rules_.script_share ||
                                  target_script_.share(target) < rules_.script_share)) {
    return PairRule::wrong_script;
  }
  if (rules_.remove_duplicates) {
    const std::uint64_t hash = XXH3_64bits_withSeed(target.data(), target.size(),
                                                    XXH3_64bits(source.data(), source.size()));
    if (!seen_.insert(hash).second) return PairRule::duplicate;
  }
  return std::nullopt;
}

std::optional<PairRule> broken_by_pieces(const PairRules& rules, std::size_t source,
                                         std::size_t target) {
  const auto [fewest, most] = std::minmax(source, target);
  if (fewest == 0) return PairRule::empty;
  if (rules.longest_pieces > 0 && std::cmp_greater(most, rules.longest_pieces)) {
    return PairRule::too_many_pieces;
  }
  if (rules.length_ratio > 0 &&
      static_cast<double>(most) > rules.length_ratio * static_cast<double>(fewest)) {
    return PairRule::length_ratio;
  }
  return std::nullopt;
}

}  // namespace roformer
