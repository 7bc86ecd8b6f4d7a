#include "text/split_program.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr int kAnyCount = std::numeric_limits<int>::max();
constexpr int kMostNesting = 4;
constexpr std::size_t kMostNodes = 10'000;
constexpr std::size_t kMostParts = 10'000;  // single characters, ranges and escapes of all classes
constexpr std::size_t kMostInnerClasses = 64;
constexpr int kLongestLookbehind = 255;  // characters

// The general categories or the script of that name, "L", "Lu", "Uppercase_Letter" or "Han". As
// Oniguruma does, ICU takes no notice of case, spaces, "-" and "_".
std::optional<ClassPart> property_named(const std::string& name) {
  const int mask = u_getPropertyValueEnum(UCHAR_GENERAL_CATEGORY_MASK, name.c_str());
  if (mask != UCHAR_INVALID_CODE) return ClassPart{.categories = static_cast<std::uint32_t>(mask)};
  const int script = u_getPropertyValueEnum(UCHAR_SCRIPT, name.c_str());
  if (script != UCHAR_INVALID_CODE) return ClassPart{.script = script};
  return std::nullopt;
}

// Reads a pattern. Each sequence is linked from its end, because each node stores its successor.
class PatternReader {
 public:
  PatternReader(std::string_view pattern, const std::string& location,
                std::vector<PatternNode>& nodes, std::vector<CharacterClass>& sets)
      : pattern_(pattern), location_(location), nodes_(nodes), sets_(sets) {}

  int read(EmptyMatches empty) {
    const int start = read_choice(kAccept, false, 0);
    if (position_ < pattern_.size()) refuse("an unmatched \")\"");
    if (empty == EmptyMatches::refused && matches_nothing(start))
      refuse("a match of no characters");
    return start;
  }

 private:
  struct Item {
    PatternNode node;
    std::optional<std::size_t> group;  // where the pattern of a group begins, for reading it again
    bool optional = false;
    bool folded = false;
  };

  std::string_view pattern_;
  const std::string& location_;
  std::vector<PatternNode>& nodes_;
  std::vector<CharacterClass>& sets_;
  std::size_t position_ = 0;
  std::size_t parts_ = 0;  // of the classes in sets_
  std::size_t inner_classes_ = 0;

  [[noreturn]] void refuse(std::string_view what) const {
    throw_failure(location_,
                  fmt::format("splits text by {}, which has {}, and that is not read here",
                              printable(pattern_), what),
                  "classes, counts, groups, (?i:...), lookahead and lookbehind are");
  }
  bool at(std::string_view text) const { return pattern_.substr(position_).starts_with(text); }
  bool take(std::string_view text) {
    if (!at(text)) return false;
    position_ += text.size();
    return true;
  }
  char32_t take_character() {
    if (position_ >= pattern_.size()) refuse("an end in the middle of a part");
    return next_code_point(pattern_, position_);
  }
  int add(PatternNode node) {
    if (nodes_.size() >= kMostNodes) refuse("too many parts");
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  void count_part() {
    if (++parts_ > kMostParts) {
      refuse(fmt::format("more than {} characters, ranges and escapes", kMostParts));
    }
  }

  // Reads alternatives up to a ")" or the end. Each continues at `next`.
  int read_choice(int next, bool folded, int depth) {
    if (depth > kMostNesting) refuse("groups nested too deeply");
    std::vector<int> alternatives{read_sequence(next, folded, depth)};
    while (take("|")) alternatives.push_back(read_sequence(next, folded, depth));
    if (alternatives.size() == 1) return alternatives[0];
    return add({.kind = PatternNode::Kind::choice, .parts = std::move(alternatives)});
  }

  int read_sequence(int next, bool folded, int depth) {
    std::vector<Item> items;
    while (position_ < pattern_.size() && !at("|") && !at(")")) {
      items.push_back(read_item(folded, depth));
    }
    const std::size_t end = position_;
    for (auto item = items.rbegin(); item != items.rend(); ++item) next = link(*item, next, depth);
    position_ = end;
    return next;
  }

  int link(Item& item, int next, int depth) {
    if (!item.group) {
      item.node.next = next;
      return add(std::move(item.node));
    }
    position_ = *item.group;
    const int inside = read_choice(next, item.folded, depth + 1);
    if (!item.optional) return inside;
    return add({.kind = PatternNode::Kind::choice, .parts = {inside, next}});
  }

  Item read_item(bool folded, int depth) {
    Item item;
    if (take("(")) {
      read_group(item, folded, depth);
    } else if (at("\\A") || at("\\z")) {
      item.node = edge_of_text(/*begin=*/take("\\A") || !take("\\z"));
    } else {
      sets_.push_back(read_set(folded));
      item.node.set = sets_.size() - 1;
    }
    read_count(item);
    return item;
  }

  // As (?<![\s\S]), no character before, or (?![\s\S]), none after.
  PatternNode edge_of_text(bool begin) {
    using Kind = PatternNode::Kind;
    const int end = begin ? add({.kind = Kind::lookbehind_end}) : kAccept;
    sets_.emplace_back(std::vector<ClassPart>(), /*negated=*/true, /*folded=*/false);
    const int any = add({.next = end, .set = sets_.size() - 1});
    return {.kind = begin ? Kind::lookbehind : Kind::lookahead, .negative = true, .parts = {any}};
  }

  void read_group(Item& item, bool folded, int depth) {
    const bool negative = at("?!") || at("?<!");
    if (take("?!") || take("?=")) {
      item.node.kind = PatternNode::Kind::lookahead;
      item.node.negative = negative;
      item.node.parts = {read_choice(kAccept, folded, depth + 1)};
    } else if (take("?<!") || take("?<=")) {
      item.node.kind = PatternNode::Kind::lookbehind;
      item.node.negative = negative;
      const int end = add({.kind = PatternNode::Kind::lookbehind_end});
      item.node.parts = {read_choice(end, folded, depth + 1)};
      const auto [least, most] = width_of(item.node.parts[0], end);
      if (most > kLongestLookbehind) {
        refuse(fmt::format("a lookbehind of more than {} characters", kLongestLookbehind));
      }
      item.node.least = least;
      item.node.most = most;
    } else {
      item.folded = take("?i:") || folded;
      if (!item.folded || pattern_[position_ - 1] != ':') take("?:");
      if (at("?")) refuse("a group of another kind");
      item.group = position_;
      // The nodes of this first reading end at kAccept and are dropped, since their successor is
      // not known yet.
      const std::size_t nodes = nodes_.size(), sets = sets_.size(), parts = parts_;
      const std::size_t inner_classes = inner_classes_;
      read_choice(kAccept, item.folded, depth + 1);
      nodes_.resize(nodes);
      sets_.erase(sets_.begin() + static_cast<std::ptrdiff_t>(sets), sets_.end());
      parts_ = parts;
      inner_classes_ = inner_classes;
    }
    if (!take(")")) refuse("an unmatched \"(\"");
  }

  void read_count(Item& item) {
    PatternNode& node = item.node;
    const bool interval = at("{");
    if (take("?")) {
      node.least = 0;
    } else if (take("*")) {
      node.least = 0;
      node.most = kAnyCount;
    } else if (take("+")) {
      node.most = kAnyCount;
    } else if (take("{")) {
      read_interval(node);
    } else {
      return;
    }
    if (node.kind != PatternNode::Kind::characters) {
      refuse("a count of a lookahead or lookbehind");
    }
    if (item.group && (node.least != 0 || node.most != 1)) refuse("a repeated group");
    item.optional = item.group.has_value();
    if (at("?")) refuse("a lazy count");
    if (at("+") && (interval || item.group)) refuse("a count of a count");
    node.possessive = take("+");
    if (at("*") || at("+") || at("?") || at("{")) refuse("a count of a count");
  }

  int read_number() {
    constexpr int kMost = 1000;
    int value = -1;
    while (position_ < pattern_.size() && pattern_[position_] >= '0' &&
           pattern_[position_] <= '9') {
      value = std::max(value, 0) * 10 + (pattern_[position_++] - '0');
      if (value > kMost) refuse("a count above 1000");
    }
    return value;
  }
  void read_interval(PatternNode& node) {
    node.least = read_number();
    node.most = node.least;
    if (take(",")) {
      const int most = read_number();
      node.most = most < 0 ? kAnyCount : most;
    }
    if (node.least < 0 || node.most < std::max(node.least, 1) || !take("}")) {
      refuse("a count without its numbers");
    }
  }

  CharacterClass read_set(bool folded) {
    if (at("*") || at("+") || at("?") || at("{")) refuse("a count of nothing");
    for (const char* other : {"^", "$"}) {
      if (at(other)) refuse(printable(other));
    }
    if (take("[")) return read_brackets(folded, 0);
    count_part();
    if (take(".")) return CharacterClass({{.first = '\n', .last = '\n'}}, true, false);
    if (take("\\")) {
      const ClassPart part = read_escape();
      return part.is_range() ? single(part.first, folded) : CharacterClass({part}, false, false);
    }
    const char32_t c = take_character();
    return single(c, folded);
  }
  static CharacterClass single(char32_t c, bool folded) {
    if (folded) {
      c = static_cast<char32_t>(u_foldCase(static_cast<UChar32>(c), U_FOLD_CASE_DEFAULT));
    }
    return CharacterClass({{.first = c, .last = c}}, false, folded);
  }

  // After its "[". Sets that are joined by "&&" become the complement of the union of their
  // complements.
  CharacterClass read_brackets(bool folded, int depth) {
    if (depth > kMostNesting) refuse("classes nested too deeply");
    const bool negated = take("^");
    std::vector<ClassPart> parts, operands;
    while (!take("]")) {
      if (take("&&")) {
        operands.push_back(complement_of(std::move(parts)));
        parts.clear();
        continue;
      }
      if (at("[:")) refuse("a POSIX class");
      count_part();
      if (take("[")) {
        parts.push_back(inner_part(read_brackets(folded, depth + 1)));
      } else {
        parts.push_back(read_range());
      }
    }
    if (parts.empty()) refuse("an empty class");
    if (folded) parts = folded_parts(parts);
    if (operands.empty()) return {parts, negated, folded};
    operands.push_back(complement_of(std::move(parts)));
    return {operands, !negated, false};
  }

  ClassPart read_range() {
    ClassPart part;
    if (take("\\")) {
      part = read_escape();
    } else {
      part.first = part.last = take_character();
    }
    if (!at("-") || at("-]")) return part;
    position_ += 1;
    const ClassPart end =
        take("\\") ? read_escape() : ClassPart{.first = 0, .last = take_character()};
    if (part.first > part.last || end.first > end.last || end.last < part.first || part.negated ||
        end.negated) {
      refuse("a range from a later to an earlier character");
    }
    part.last = end.last;
    return part;
  }

  ClassPart inner_part(CharacterClass set) {
    if (++inner_classes_ > kMostInnerClasses) {
      refuse(fmt::format("more than {} classes inside of classes", kMostInnerClasses));
    }
    return {.inner = std::make_shared<const CharacterClass>(std::move(set))};
  }
  ClassPart complement_of(std::vector<ClassPart> parts) {
    if (parts.empty()) refuse("an empty class");
    ClassPart part = inner_part(CharacterClass(parts, false, false));
    part.negated = true;
    return part;
  }
  // The letters of a class whose case does not matter, as small ones.
  std::vector<ClassPart> folded_parts(const std::vector<ClassPart>& parts) const {
    std::vector<ClassPart> result;
    for (const ClassPart& part : parts) {
      if (!part.is_range() || part.last > 127) {
        refuse("a class whose case does not matter, of other characters than ASCII's");
      }
      for (char32_t c = part.first; c <= part.last; ++c) {
        const bool capital = c >= 'A' && c <= 'Z';
        const char32_t small = capital ? c - 'A' + 'a' : c;
        result.push_back({.first = small, .last = small});
      }
    }
    return result;
  }

  ClassPart read_escape() {
    const char32_t c = take_character();
    switch (c) {
      case 'p':
      case 'P':
        return read_property(c == 'P');
      case 's':
      case 'S':
        return {.space = true, .negated = c == 'S'};
      case 'w':
      case 'W':
        return {.word = true, .negated = c == 'W'};
      case 'd':
      case 'D':
        return {.categories = U_GC_ND_MASK, .negated = c == 'D'};
      case 'r':
        return {.first = '\r', .last = '\r'};
      case 'n':
        return {.first = '\n', .last = '\n'};
      case 't':
        return {.first = '\t', .last = '\t'};
      case 'f':
        return {.first = '\f', .last = '\f'};
      case 'v':
        return {.first = '\v', .last = '\v'};
      case 'x':
      case 'u':
        return read_number_of_character(c == 'x');
      default:
        break;
    }
    if (c > 127 || u_isalnum(static_cast<UChar32>(c))) refuse("an escape");
    return {.first = c, .last = c};
  }
  // \x{1F600}, \x7F or \u00A0, after its letter.
  ClassPart read_number_of_character(bool hexadecimal) {
    const bool braces = hexadecimal && take("{");
    const std::size_t length = braces        ? pattern_.substr(position_).find('}')
                               : hexadecimal ? std::size_t{2}
                                             : std::size_t{4};
    const std::string_view digits =
        pattern_.substr(std::min(position_, pattern_.size())).substr(0, length);
    std::uint32_t c = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), c, 16);
    const bool whole = error == std::errc() && rest == digits.data() + digits.size();
    if (!whole || (!braces && digits.size() != length) || c > 0x10FFFF) refuse("an escape");
    // Oniguruma reads \x80 to \xFF as bytes.
    if (hexadecimal && !braces && c > 127) refuse("an escape of a byte");
    position_ += digits.size() + (braces ? 1 : 0);
    if (braces && position_ > pattern_.size()) refuse("an unmatched \"{\"");
    return {.first = c, .last = c};
  }
  ClassPart read_property(bool negated) {
    std::string_view name = pattern_.substr(std::min(position_, pattern_.size()), 1);
    if (take("{")) {
      const std::size_t end = pattern_.find('}', position_);
      if (end == std::string_view::npos) refuse("an unmatched \"{\"");
      name = pattern_.substr(position_, end - position_);
      position_ = end + 1;
    } else {
      refuse("\\p without {}");
    }
    if (name.starts_with('^')) {
      negated = !negated;
      name.remove_prefix(1);
    }
    std::optional<ClassPart> part = property_named(std::string(name));
    if (!part) refuse(fmt::format("the property {}", printable(name)));
    part->negated = negated;
    return *part;
  }

  // The fewest and the most characters of a match from the node on, up to the node `end`, which
  // precedes it. A node follows all nodes that it leads to.
  std::pair<int, int> width_of(int start, int end) const {
    std::vector<std::pair<int, int>> widths(nodes_.size() - static_cast<std::size_t>(end));
    const auto width = [&](int number) {
      // A part inside of another lookahead leads to no node of this one.
      return number < end ? std::pair(0, 0) : widths[static_cast<std::size_t>(number - end)];
    };
    const auto sum = [](int a, int b) { return a > kAnyCount - b ? kAnyCount : a + b; };
    for (std::size_t i = 1; i < widths.size(); ++i) {
      const PatternNode& node = nodes_[static_cast<std::size_t>(end) + i];
      if (node.kind == PatternNode::Kind::choice) {
        widths[i].first = kAnyCount;
        for (const int part : node.parts) {
          widths[i].first = std::min(widths[i].first, width(part).first);
          widths[i].second = std::max(widths[i].second, width(part).second);
        }
      } else {
        const bool takes = node.kind == PatternNode::Kind::characters;
        widths[i] = {sum(takes ? node.least : 0, width(node.next).first),
                     sum(takes ? node.most : 0, width(node.next).second)};
      }
    }
    return width(start);
  }

  // One pass over the nodes is enough: a node follows all nodes that it leads to.
  bool matches_nothing(int start) const {
    std::vector<bool> found(nodes_.size());
    const auto known = [&](int number) {
      return number == kAccept || found[static_cast<std::size_t>(number)];
    };
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const PatternNode& node = nodes_[i];
      if (node.kind == PatternNode::Kind::choice) {
        found[i] = std::ranges::any_of(node.parts, known);
      } else {
        const bool takes = node.kind == PatternNode::Kind::characters && node.least > 0;
        found[i] = !takes && known(node.next);
      }
    }
    return known(start);
  }
};

}  // namespace

SplitProgram read_split_program(std::string_view pattern, const std::string& location,
                                EmptyMatches empty) {
  SplitProgram program;
  program.start = PatternReader(pattern, location, program.nodes, program.sets).read(empty);
  return program;
}

}  // namespace roformer
