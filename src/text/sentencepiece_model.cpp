#include "text/sentencepiece_model.h"

#include <sentencepiece_processor.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

// libsentencepiece defines this name as an object of 32 bytes and LibTorch's libc10 as an int. If
// the int wins the name, as the order of the libraries decides, libsentencepiece writes over the
// flag behind it, which turns every failed allocation into an abort. The program's definition wins
// over both and has room for either.
alignas(64) unsigned char FLAGS_minloglevel[256];

namespace roformer {
namespace {

// Field numbers of sentencepiece_model.proto.
constexpr std::uint64_t kNormalizer = 3, kDenormalizer = 5;  // of ModelProto
constexpr std::uint64_t kPrecompiledMap = 2;                 // of NormalizerSpec
// Units of a trie's block: one for each value of a byte.
constexpr std::size_t kBlock = 256;
// The library stores at most this many rules that match at one place, but counts further ones too.
constexpr int kMostMatches = 32;

// The fields of a serialised message, in order.
class MessageFields {
 public:
  explicit MessageFields(std::string_view message) : rest_(message) {}

  // The next field of bytes, with its number in `number`. Empty at the end or at damage.
  std::optional<std::string_view> next(std::uint64_t& number) {
    while (!rest_.empty()) {
      const std::optional<std::uint64_t> read = varint();
      if (!read) return std::nullopt;
      const auto tag = static_cast<std::uint32_t>(*read);  // as protobuf cuts it
      number = tag >> 3;
      const std::uint32_t type = tag & 7;
      if (type == 2) {
        const std::optional<std::uint64_t> size = varint();
        return size ? taken(*size) : std::nullopt;
      }
      const bool group_end = type == 3 || type == 4;  // its fields are read like those around it
      const bool skipped =
          type == 0 ? varint().has_value() : (type == 1 && taken(8)) || (type == 5 && taken(4));
      if (!group_end && !skipped) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  std::string_view rest_;

  std::optional<std::string_view> taken(std::uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }
  std::optional<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::optional<std::string_view> byte = taken(1);
      if (!byte) return std::nullopt;
      const auto bits = static_cast<std::uint64_t>(static_cast<unsigned char>(byte->front()));
      value |= (bits & 0x7f) << shift;
      if (bits < 0x80) return value;
    }
    return std::nullopt;
  }
};

// A double-array trie in the format of Darts-clone. The value at a leaf is the position of the text
// that replaces the match.
class Trie {
 public:
  Trie(std::vector<std::uint32_t> units, std::string_view texts)
      : units_(std::move(units)), texts_(texts) {}

  bool is_safe() {
    if (units_.empty() || units_.size() % kBlock != 0) return false;
    if (texts_.empty() || texts_.back() != '\0') return false;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      if (is_value(i)) continue;
      if ((base(i) | (kBlock - 1)) >= units_.size()) return false;
      if (has_leaf(i) && (units_[base(i)] & ~(1u << 31)) >= texts_.size()) return false;
    }
    list_children();
    matches_.assign(units_.size(), kUnknown);
    return count_matches();
  }

  // For a safe trie: whether a rule matches a text with a space in it (but for a space alone), or
  // writes the marker that a space becomes.
  bool reaches_over_spaces() const {
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

 private:
  static constexpr int kUnknown = -1, kBeingCounted = -2;

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

  // True if the only rule that begins with a space writes a space for it.
  bool keeps_space(std::size_t unit) const {
    const std::size_t from = base(unit);
    if (!has_leaf(unit) || first_child_[from] != first_child_[from + 1]) return false;
    return texts_.substr(units_[from] & ~(1u << 31)).starts_with(std::string_view(" \0", 2));
  }

  void list_children() {
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
  bool count_matches() {
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
};

// Empty if the sizes in the table contradict each other.
std::optional<Trie> trie_of(std::string_view map) {
  std::uint32_t bytes = 0;
  if (map.size() < sizeof bytes) return std::nullopt;
  std::memcpy(&bytes, map.data(), sizeof bytes);
  map.remove_prefix(sizeof bytes);
  if (bytes == 0 || bytes > map.size() || bytes % sizeof(std::uint32_t) != 0) return std::nullopt;
  std::vector<std::uint32_t> units(bytes / sizeof(std::uint32_t));
  std::memcpy(units.data(), map.data(), bytes);
  return Trie(std::move(units), map.substr(bytes));
}

bool is_safe_map(std::string_view map) {
  if (map.empty()) return true;
  std::optional<Trie> trie = trie_of(map);
  return trie && trie->is_safe();
}

// Calls action(table of rules) for the normalisers with these field numbers.
template <class Action>
void for_each_map(std::string_view model, std::initializer_list<std::uint64_t> specifications,
                  Action action) {
  std::uint64_t number = 0;
  MessageFields fields(model);
  while (const std::optional<std::string_view> field = fields.next(number)) {
    if (std::ranges::find(specifications, number) == specifications.end()) continue;
    MessageFields specification(*field);
    while (const std::optional<std::string_view> part = specification.next(number)) {
      if (number == kPrecompiledMap) action(*part);
    }
  }
}

}  // namespace

bool has_safe_normalization(std::string_view model) {
  bool safe = true;
  for_each_map(model, {kNormalizer, kDenormalizer},
               [&](std::string_view map) { safe = safe && is_safe_map(map); });
  return safe;
}

bool normalization_reaches_over_spaces(std::string_view model) {
  bool reaches = false;
  for_each_map(model, {kNormalizer}, [&](std::string_view map) {
    std::optional<Trie> trie = trie_of(map);
    reaches =
        reaches || (!map.empty() && !(trie && trie->is_safe() && !trie->reaches_over_spaces()));
  });
  return reaches;
}

std::string load_sentencepiece(sentencepiece::SentencePieceProcessor& processor,
                               std::string_view contents) {
  if (!has_safe_normalization(contents)) return "damaged: its rules of normalisation";
  try {
    const auto status = processor.LoadFromSerializedProto(contents);
    if (status.ok()) return {};
    return status.message()[0] == '\0' ? "damaged" : status.message();
  } catch (const std::exception& problem) {
    return problem.what();
  }
}

}  // namespace roformer
