#include "text/split_program.h"

#include <fmt/format.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "text/code_point_category.h"
#include "text/utf8.h"

namespace roformer {
namespace {

constexpr int kAnyCount = std::numeric_limits<int>::max();
constexpr int kMostNesting = 4;
constexpr std::size_t kMostNodes = 10'000;
constexpr std::size_t kMostParts = 10'000;  // single characters, ranges and escapes of all classes

std::optional<std::uint32_t> categories_named(std::string_view name) {
  struct Category {
    std::string_view name;
    std::uint32_t mask;
  };
  static constexpr Category kCategories[] = {
      {"L", U_GC_L_MASK},   {"Lu", U_GC_LU_MASK}, {"Ll", U_GC_LL_MASK}, {"Lt", U_GC_LT_MASK},
      {"Lm", U_GC_LM_MASK}, {"Lo", U_GC_LO_MASK}, {"M", U_GC_M_MASK},   {"Mn", U_GC_MN_MASK},
      {"Mc", U_GC_MC_MASK}, {"Me", U_GC_ME_MASK}, {"N", U_GC_N_MASK},   {"Nd", U_GC_ND_MASK},
      {"Nl", U_GC_NL_MASK}, {"No", U_GC_NO_MASK}, {"P", U_GC_P_MASK},   {"Pc", U_GC_PC_MASK},
      {"Pd", U_GC_PD_MASK}, {"Ps", U_GC_PS_MASK}, {"Pe", U_GC_PE_MASK}, {"Pi", U_GC_PI_MASK},
      {"Pf", U_GC_PF_MASK}, {"Po", U_GC_PO_MASK}, {"S", U_GC_S_MASK},   {"Sm", U_GC_SM_MASK},
      {"Sc", U_GC_SC_MASK}, {"Sk", U_GC_SK_MASK}, {"So", U_GC_SO_MASK}, {"Z", U_GC_Z_MASK},
      {"Zs", U_GC_ZS_MASK}, {"Zl", U_GC_ZL_MASK}, {"Zp", U_GC_ZP_MASK}, {"C", U_GC_C_MASK},
      {"Cc", U_GC_CC_MASK}, {"Cf", U_GC_CF_MASK}};
  for (const Category& category : kCategories) {
    if (category.name == name) return category.mask;
  }
  return std::nullopt;
}

// Reads a pattern from its end of each sequence backwards: a node knows the one that follows it.
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

  [[noreturn]] void refuse(std::string_view what) const {
    throw_failure(location_,
                  fmt::format("splits text by {}, which has {}, nothing that is read here",
                              printable(pattern_), what),
                  "classes, counts, groups, (?i:...) and lookahead are");
  }
  bool at(std::string_view text) const { return pattern_.substr(position_).starts_with(text); }
  bool take(std::string_view text) {
    if (!at(text)) return false;
    position_ += text.size();
    return true;
  }
  char32_t take_character() {
    if (position_ >= pattern_.size()) refuse("an end that is not one");
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

  // Alternatives up to a ")" or the end; each goes on at `next`.
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
    const bool negative = at("?!");
    if (take("?!") || take("?=")) {
      item.node.kind = PatternNode::Kind::lookahead;
      item.node.negative = negative;
      item.node.parts = {read_choice(kAccept, folded, depth + 1)};
    } else {
      item.folded = take("?i:") || folded;
      if (!item.folded || pattern_[position_ - 1] != ':') take("?:");
      if (at("?")) refuse("a group of another kind");
      item.group = position_;
      // The nodes of this first reading end at kAccept and are dropped: what follows is not known.
      const std::size_t nodes = nodes_.size(), sets = sets_.size(), parts = parts_;
      read_choice(kAccept, item.folded, depth + 1);
      nodes_.resize(nodes);
      sets_.erase(sets_.begin() + static_cast<std::ptrdiff_t>(sets), sets_.end());
      parts_ = parts;
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
    if (node.kind != PatternNode::Kind::characters) refuse("a count of a lookahead");
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
      refuse("a count that is none");
    }
  }

  CharacterClass read_set(bool folded) {
    if (at("*") || at("+") || at("?") || at("{")) refuse("a count of nothing");
    for (const char* other : {".", "^", "$"}) {
      if (at(other)) refuse(printable(other));
    }
    if (take("[")) return read_brackets(folded);
    count_part();
    if (take("\\")) {
      const ClassPart part = read_escape();
      return CharacterClass({part}, false, folded && part.first == part.last);
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

  CharacterClass read_brackets(bool folded) {
    if (folded) refuse("a class whose case does not matter");
    const bool negated = take("^");
    std::vector<ClassPart> parts;
    while (!take("]")) {
      if (at("[") || at("&&")) refuse("a class inside of a class");
      count_part();
      ClassPart part;
      if (take("\\")) {
        part = read_escape();
      } else {
        part.first = part.last = take_character();
      }
      if (at("-") && !at("-]")) {
        position_ += 1;
        const ClassPart end =
            take("\\") ? read_escape() : ClassPart{.first = 0, .last = take_character()};
        if (part.first > part.last || end.first > end.last || end.last < part.first ||
            part.negated || end.negated) {
          refuse("a range that is none");
        }
        part.last = end.last;
      }
      parts.push_back(part);
    }
    if (parts.empty()) refuse("an empty class");
    return CharacterClass(parts, negated, false);
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
      case 'd':
      case 'D':
        return {.categories = U_GC_ND_MASK, .negated = c == 'D'};
      case 'r':
        return {.first = '\r', .last = '\r'};
      case 'n':
        return {.first = '\n', .last = '\n'};
      case 't':
        return {.first = '\t', .last = '\t'};
      default:
        break;
    }
    if (c > 127 || u_isalnum(static_cast<UChar32>(c))) refuse("an escape");
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
    const auto categories = categories_named(name);
    if (!categories) refuse(fmt::format("the property {}", printable(name)));
    return {.categories = *categories, .negated = negated};
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

bool ClassPart::contains(char32_t c) const {
  const bool inside = (c >= first && c <= last) || (code_point_category(c) & categories) != 0 ||
                      (space && u_isUWhiteSpace(static_cast<UChar32>(c)));
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
  const auto behind = std::ranges::upper_bound(ranges_, c, {}, &Range::first);
  const bool inside =
      (behind != ranges_.begin() && c <= std::prev(behind)->last) ||
      std::ranges::any_of(escapes_, [c](const auto& part) { return part.contains(c); });
  return inside != negated_;
}

SplitProgram read_split_pattern(std::string_view pattern, const std::string& location) {
  SplitProgram program;
  program.start = PatternReader(pattern, location, program.nodes, program.sets).read();
  return program;
}

}  // namespace roformer
