#include "text/normalization_map.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "text/graphemes.h"
#include "text/growing_text.h"
#include "text/sentencepiece_model.h"
#include "text/utf8.h"

namespace roformer {
namespace {

// Units of a trie's block: one for each value of a byte.
constexpr std::size_t kBlock = 256;
// SentencePiece's library stores at most this many rules that match at one place, but counts
// further ones too.
constexpr int kMostMatches = 32;
constexpr std::uint32_t kValueBits = ~(1u << 31);

}  // namespace

std::optional<NormalizationMap> NormalizationMap::read(std::string_view table) {
  NormalizationMap map;
  if (table.empty()) return map;
  std::uint32_t bytes = 0;
  if (table.size() < sizeof bytes) return std::nullopt;
  std::memcpy(&bytes, table.data(), sizeof bytes);
  table.remove_prefix(sizeof bytes);
  if (bytes == 0 || bytes > table.size() || bytes % sizeof(std::uint32_t) != 0) return std::nullopt;
  map.units_.resize(bytes / sizeof(std::uint32_t));
  std::memcpy(map.units_.data(), table.data(), bytes);
  map.texts_ = table.substr(bytes);
  if (!map.is_safe()) return std::nullopt;
  map.list_children();
  if (!map.count_matches()) return std::nullopt;
  return map;
}

bool NormalizationMap::is_safe() const {
  if (units_.size() % kBlock != 0) return false;
  if (texts_.empty() || texts_.back() != '\0') return false;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (is_value(i)) continue;
    if ((base(i) | (kBlock - 1)) >= units_.size()) return false;
    if (has_leaf(i) && (units_[base(i)] & kValueBits) >= texts_.size()) return false;
  }
  return true;
}

std::string_view NormalizationMap::text_at(std::size_t unit) const {
  return texts_.data() + (units_[base(unit)] & kValueBits);
}

bool NormalizationMap::reaches_over_spaces() const {
  if (units_.empty()) return false;
  if (texts_.find(kSpaceMarker) != std::string::npos) return true;
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

// True if the only rule that begins with a space writes a space for it.
bool NormalizationMap::keeps_space(std::size_t unit) const {
  const std::size_t from = base(unit);
  return has_leaf(unit) && first_child_[from] == first_child_[from + 1] && text_at(unit) == " ";
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

// False if a path leads in a circle, or passes more leaves than the library stores. Not recursive:
// paths may be as long as the number of units.
bool NormalizationMap::count_matches() const {
  constexpr int kUnknown = -1, kBeingCounted = -2;
  std::vector<int> matches(units_.size(), kUnknown);  // the most leaves on a path from a unit
  std::vector<std::size_t> way = {0};
  while (!way.empty()) {
    const std::size_t unit = way.back();
    const std::size_t from = base(unit);
    bool waits = false;
    int most = 0;
    matches[unit] = kBeingCounted;
    for (std::uint32_t c = first_child_[from]; c < first_child_[from + 1] && !waits; ++c) {
      const std::uint32_t child = children_[c];
      if (matches[child] == kBeingCounted) return false;
      waits = matches[child] == kUnknown;
      if (waits) way.push_back(child);
      most = std::max(most, matches[child]);
    }
    if (waits) continue;
    matches[unit] = most + (unit != 0 && has_leaf(unit) ? 1 : 0);
    if (matches[unit] > kMostMatches) return false;
    way.pop_back();
  }
  return true;
}

std::optional<std::string_view> NormalizationMap::replacement(std::string_view text) const {
  if (units_.empty()) return std::nullopt;
  std::size_t from = base(0);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const std::size_t unit = from ^ byte;
    // The label of a value has its highest bit, so that no byte equals it.
    if (byte == 0 || (units_[unit] & (1u << 31 | 0xff)) != byte) return std::nullopt;
    if (has_leaf(unit)) return text_at(unit);
    from = base(unit);
  }
  return std::nullopt;
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
