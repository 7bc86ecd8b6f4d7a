#include "text/split_pattern.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "text/characters.h"
#include "text/utf8.h"

namespace roformer {

class CharacterClass;

// A part of a class: general categories, a script, a range of characters, white space, the
// characters of words, or a class inside the class.
struct ClassPart {
  std::uint32_t categories = 0;  // a mask of U_GC_...
  std::int32_t script = -1;      // ICU's number; -1: none
  char32_t first = 1, last = 0;  // empty
  bool space = false;
  bool word = false;
  std::shared_ptr<const CharacterClass> inner;
  bool negated = false;

  bool contains(char32_t c) const;
  bool is_range() const {
    return first <= last && categories == 0 && script < 0 && !space && !word && !inner && !negated;
  }
  bool operator==(const ClassPart&) const = default;
};

// A set of characters. Those below 128 are looked up in a table, others in sorted ranges and in
// the few different escapes there are.
class CharacterClass {
 public:
  CharacterClass(const std::vector<ClassPart>& parts, bool negated, bool folded);
  bool contains(char32_t c) const { return c < ascii_.size() ? ascii_[c] : look_up(c); }

 private:
  struct Range {
    char32_t first, last;
  };
  std::vector<Range> ranges_;       // sorted; none overlaps another
  std::vector<ClassPart> escapes_;  // parts that are no range, each once
  bool negated_;
  bool folded_;  // case does not matter; only of single characters
  std::array<bool, 128> ascii_{};

  bool look_up(char32_t c) const;
};

// The value of the next node if the pattern, or the part in a lookahead, is over.
constexpr int kAccept = -1;

struct PatternNode {
  // lookbehind_end: the end of the part inside a lookbehind, which must be where it began to look
  enum class Kind { characters, choice, lookahead, lookbehind, lookbehind_end };
  Kind kind = Kind::characters;
  int next = kAccept;
  std::size_t set = 0;      // of characters
  int least = 1, most = 1;  // lookbehind: characters of the part inside
  bool possessive = false;
  bool negative = false;   // lookahead, lookbehind
  std::vector<int> parts;  // choice: the alternatives; lookahead, lookbehind: the one inside
};

// A compiled pattern; the matcher walks its nodes over a text.
struct SplitProgram {
  std::vector<PatternNode> nodes;
  std::vector<CharacterClass> sets;
  int start = kAccept;
};

bool ClassPart::contains(char32_t c) const {
  const bool inside = (c >= first && c <= last) || (code_point_category(c) & categories) != 0 ||
                      (script >= 0 && code_point_script(c) == script) ||
                      (space && u_isUWhiteSpace(static_cast<UChar32>(c))) ||
                      (word && is_pattern_word_character(c)) || (inner && inner->contains(c));
  return inside != negated;
}

CharacterClass::CharacterClass(const std::vector<ClassPart>& parts, bool negated, bool folded)
    : negated_(negated), folded_(folded) {
  for (const ClassPart& part : parts) {
    if (part.is_range()) {
      ranges_.push_back({.first = part.first, .last = part.last});
    } else if (std::ranges::find(escapes_, part) == escapes_.end()) {
      escapes_.push_back(part);
    }
  }
  std::ranges::sort(ranges_, {}, &Range::first);
  std::size_t kept = 0;
  for (const Range& range : ranges_) {
    if (kept > 0 && range.first <= ranges_[kept - 1].last) {
      ranges_[kept - 1].last = std::max(ranges_[kept - 1].last, range.last);
    } else {
      ranges_[kept++] = range;
    }
  }
  ranges_.resize(kept);
  for (std::size_t c = 0; c < ascii_.size(); ++c) ascii_[c] = look_up(static_cast<char32_t>(c));
}

bool CharacterClass::look_up(char32_t c) const {
  if (folded_) {
    c = static_cast<char32_t>(u_foldCase(static_cast<UChar32>(c), U_FOLD_CASE_DEFAULT));
  }
  const auto after = std::ranges::upper_bound(ranges_, c, {}, &Range::first);
  const bool inside =
      (after != ranges_.begin() && c <= std::prev(after)->last) ||
      std::ranges::any_of(escapes_, [c](const auto& part) { return part.contains(c); });
  return inside != negated_;
}

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

  int read() {
    const int start = read_choice(kAccept, false, 0);
    if (position_ < pattern_.size()) refuse("an unmatched \")\"");
    if (matches_nothing(start)) refuse("a match of no characters");
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
    } else {
      sets_.push_back(read_set(folded));
      item.node.set = sets_.size() - 1;
    }
    read_count(item);
    return item;
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

class PatternMatcher {
 public:
  PatternMatcher(const std::vector<PatternNode>& nodes, const std::vector<CharacterClass>& sets,
                 std::string_view text, std::int64_t& effort)
      : nodes_(nodes), sets_(sets), text_(text), effort_(effort) {}

  // The position where the match of a node and its successors ends.
  std::optional<std::size_t> match(int number, std::size_t position) {
    while (number != kAccept) {
      spend();
      const PatternNode& node = nodes_[static_cast<std::size_t>(number)];
      if (node.kind == PatternNode::Kind::choice) {
        for (std::size_t i = 0; i + 1 < node.parts.size(); ++i) {
          if (const auto end = match(node.parts[i], position)) return end;
        }
        number = node.parts.back();
        continue;
      }
      if (node.kind == PatternNode::Kind::lookbehind_end) {
        if (position != origin_) return std::nullopt;
        number = node.next;
        continue;
      }
      if (node.kind != PatternNode::Kind::characters) {
        const bool ahead = node.kind == PatternNode::Kind::lookahead;
        const bool found =
            ahead ? match(node.parts[0], position).has_value() : looks_behind(node, position);
        if (found == node.negative) return std::nullopt;
        number = node.next;
        continue;
      }
      const int count = run(node, position);
      if (count < node.least) return std::nullopt;
      if (!node.possessive && node.next != kAccept) {
        for (int left = count; left > node.least; --left) {
          if (const auto end = match(node.next, position)) return end;
          position = character_before(text_, position);
        }
      }
      number = node.next;
    }
    return position;
  }

 private:
  const std::vector<PatternNode>& nodes_;
  const std::vector<CharacterClass>& sets_;
  std::string_view text_;
  std::int64_t& effort_;
  std::size_t origin_ = 0;  // where the innermost lookbehind looks from

  // Whether the part of a lookbehind matches the characters before the position.
  bool looks_behind(const PatternNode& node, std::size_t position) {
    const std::size_t outer = std::exchange(origin_, position);
    bool found = false;
    for (int back = 0; !found; ++back) {
      spend();
      found = back >= node.least && match(node.parts[0], position).has_value();
      if (found || back == node.most || position == 0) break;
      position = character_before(text_, position);
    }
    origin_ = outer;
    return found;
  }

  void spend() {
    if (--effort_ < 0) {
      throw_failure("tokenizer", "its pattern backtracks without end on this text");
    }
  }
  // Moves `position` past as many characters of the set as there are, and counts them.
  int run(const PatternNode& node, std::size_t& position) {
    const CharacterClass& set = sets_[node.set];
    int count = 0;
    while (count < node.most && position < text_.size()) {
      std::size_t end = position;
      if (!set.contains(next_code_point(text_, end))) break;
      position = end;
      ++count;
      spend();
    }
    return count;
  }
};

}  // namespace

SplitPattern::SplitPattern(std::string_view pattern, const std::string& location)
    : program_([&] {
        auto program = std::make_unique<SplitProgram>();
        program->start = PatternReader(pattern, location, program->nodes, program->sets).read();
        return program;
      }()) {}

SplitPattern::~SplitPattern() = default;
SplitPattern::SplitPattern(SplitPattern&&) noexcept = default;
SplitPattern& SplitPattern::operator=(SplitPattern&&) noexcept = default;

std::int64_t SplitPattern::effort_for(std::size_t bytes) {
  constexpr std::int64_t kEffortOfByte = 1000;
  return kEffortOfByte * (static_cast<std::int64_t>(bytes) + 1000);
}

SplitPattern::Match SplitPattern::find(std::string_view text, std::size_t position,
                                       std::int64_t& effort) const {
  PatternMatcher matcher(program_->nodes, program_->sets, text, effort);
  while (position < text.size()) {
    if (const auto end = matcher.match(program_->start, position)) return {position, *end};
    next_code_point(text, position);
  }
  return {text.size(), text.size()};
}

}  // namespace roformer
