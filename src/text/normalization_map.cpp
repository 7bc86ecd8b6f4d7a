#include "text/normalization_map.h"

#include <algorithm>
#include <cstring>

#include "text/graphemes.h"
#include "text/growing_text.h"
#include "text/sentencepiece_model.h"
#include "text/utf8.h"

namespace roformer {
namespace {

// Units of a trie's block: one for each value of a byte.
constexpr std::size_t kBlock = 256;
// The library stores at most this many rules that match at one place, but counts further ones too.
constexpr int kMostMatches = 32;
constexpr int kUnknown = -1, kBeingCounted = -2;

}  // namespace

std::optional<NormalizationMap> NormalizationMap::of(std::string_view map) {
  std::uint32_t bytes = 0;
  if (map.size() < sizeof bytes) return std::nullopt;
  std::memcpy(&bytes, map.data(), sizeof bytes);
  map.remove_prefix(sizeof bytes);
  if (bytes == 0 || bytes > map.size() || bytes % sizeof(std::uint32_t) != 0) return std::nullopt;
  std::vector<std::uint32_t> units(bytes / sizeof(std::uint32_t));
  std::memcpy(units.data(), map.data(), bytes);
  return NormalizationMap(std::move(units), map.substr(bytes));
}

bool NormalizationMap::is_safe() {
  if (units_.empty() || units_.size() % kBlock != 0) return false;
  if (texts_.empty() || texts_.back() != '\0') return false;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (is_value(i)) continue;
    if ((base(i) | (kBlock - 1)) >= units_.size()) return false;
    if (has_leaf(i) && text_of(i) >= texts_.size()) return false;
  }
  list_children();
  matches_.assign(units_.size(), kUnknown);
  return count_matches();
}

bool NormalizationMap::reaches_over_spaces() const {
  if (texts_.find(kSpaceMarker) != std::string_view::npos) return true;
  std::vector<bool> seen(units_.size());
  std::vector<std::size_t> open = {0};
  while (!open.empty()) {
    const std::size_t unit = open.back();
    open.pop_back();
    const std::size_t from = base(unit);
    for (std::uint32_t c = first_child_[from]; c < first_child_[from + 1]; ++c) {
      const std::size_t child = children_[c];
      if ((units_[child] & 0xff) == ' ' && !(unit == 0 && keeps_space(child))) return true;
      if (!seen[child]) open.push_back(child);
      seen[child] = true;
    }
  }
  return false;
}

bool NormalizationMap::for_each_rule(
    const std::function<void(const std::string&, std::string_view)>& action) const {
  constexpr std::size_t kMostSteps = 20'000'000;
  struct Open {
    std::size_t unit = 0, depth = 0;
  };
  std::vector<Open> open = {{}};
  std::string matched;
  for (std::size_t steps = 0; !open.empty(); ++steps) {
    if (steps > kMostSteps) return false;
    const auto [unit, depth] = open.back();
    open.pop_back();
    if (unit != 0) {
      matched.resize(depth - 1);
      matched += static_cast<char>(units_[unit] & 0xff);
      if (has_leaf(unit)) {
        const std::string_view text = texts_.substr(text_of(unit));
        action(matched, text.substr(0, text.find('\0')));
      }
    }
    const std::size_t from = base(unit);
    for (std::uint32_t c = first_child_[from]; c < first_child_[from + 1]; ++c) {
      open.push_back({.unit = children_[c], .depth = depth + 1});
    }
  }
  return true;
}

// True if the only rule that begins with a space writes a space for it.
bool NormalizationMap::keeps_space(std::size_t unit) const {
  const std::size_t from = base(unit);
  if (!has_leaf(unit) || first_child_[from] != first_child_[from + 1]) return false;
  return texts_.substr(text_of(unit)).starts_with(std::string_view(" \0", 2));
}

void NormalizationMap::list_children() {
  first_child_.assign(units_.size() + 1, 0);
  for (std::size_t i = 1; i < units_.size(); ++i) {
    if (!is_value(i)) ++first_child_[reached_from(i) + 1];
  }
  for (std::size_t i = 0; i < units_.size(); ++i) first_child_[i + 1] += first_child_[i];
  children_.resize(first_child_.back());
  std::vector<std::uint32_t> next(first_child_.begin(), first_child_.end() - 1);
  for (std::size_t i = 1; i < units_.size(); ++i) {
    if (!is_value(i)) children_[next[reached_from(i)]++] = static_cast<std::uint32_t>(i);
  }
}

// False if a path leads in a circle, or passes more leaves than the library stores. Not
// recursive: paths may be as long as the number of units.
bool NormalizationMap::count_matches() {
  std::vector<std::size_t> way = {0};
  while (!way.empty()) {
    const std::size_t unit = way.back();
    const std::size_t from = base(unit);
    bool waits = false;
    int most = 0;
    matches_[unit] = kBeingCounted;
    for (std::uint32_t c = first_child_[from]; c < first_child_[from + 1] && !waits; ++c) {
      const std::uint32_t child = children_[c];
      if (matches_[child] == kBeingCounted) return false;
      waits = matches_[child] == kUnknown;
      if (waits) way.push_back(child);
      most = std::max(most, matches_[child]);
    }
    if (waits) continue;
    matches_[unit] = most + (unit != 0 && has_leaf(unit) ? 1 : 0);
    if (matches_[unit] > kMostMatches) return false;
    way.pop_back();
  }
  return true;
}

template <class Action>
void NormalizationMap::for_each_match(std::string_view text, Action action) const {
  std::size_t from = base(0);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t unit = from ^ byte;
    // The label of a value has its highest bit, so that no byte equals it.
    if (byte == 0 || (units_[unit] & (1u << 31 | 0xff)) != byte) return;
    if (has_leaf(unit)) {
      const std::string_view rest = texts_.substr(text_of(unit));
      if (!action(i + 1, rest.substr(0, rest.find('\0')))) return;
    }
    from = base(unit);
  }
}

std::optional<std::string_view> NormalizationMap::replacement(std::string_view text) const {
  std::optional<std::string_view> found;
  for_each_match(text, [&](std::size_t, std::string_view written) {
    found = written;
    return false;
  });
  return found;
}

NormalizationMap::Match NormalizationMap::longest(std::string_view text) const {
  Match found;
  for_each_match(text, [&](std::size_t length, std::string_view written) {
    found = {.length = length, .written = written};
    return true;
  });
  return found;
}

std::string NormalizationMap::apply(std::string_view text) const {
  constexpr std::size_t kLongestTaken = 5;  // bytes of a grapheme that is taken as a whole
  GrowingText result(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t end = grapheme_end(text, position);
    if (end - position <= kLongestTaken) {
      if (const auto written = replacement(text.substr(position, end - position))) {
        result.append(*written);
        position = end;
        continue;
      }
    }
    while (position < end) {
      const std::size_t begin = position;
      next_code_point(text, position);
      const std::string_view character = text.substr(begin, position - begin);
      result.append(replacement(character).value_or(character));
    }
  }
  return std::move(result).text();
}

}  // namespace roformer
