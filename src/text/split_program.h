// What a split pattern is made into: nodes that are walked over a text, each of which knows the one
// that follows it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// A part of a class: general categories, a range of characters, or white space.
struct ClassPart {
  std::uint32_t categories = 0;  // a mask of U_GC_...
  char32_t first = 1, last = 0;  // empty
  bool space = false;
  bool negated = false;

  bool contains(char32_t c) const;
  bool is_range() const { return first <= last && categories == 0 && !space && !negated; }
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

// As the next node: the pattern, or the part in a lookahead, is over.
inline constexpr int kAccept = -1;

struct PatternNode {
  enum class Kind { characters, choice, lookahead };
  Kind kind = Kind::characters;
  int next = kAccept;
  std::size_t set = 0;  // of characters
  int least = 1, most = 1;
  bool possessive = false;
  bool negative = false;   // lookahead
  std::vector<int> parts;  // choice: the alternatives; lookahead: the one inside
};

struct SplitProgram {
  std::vector<PatternNode> nodes;
  std::vector<CharacterClass> sets;
  int start = kAccept;
};

// Throws Error (failure, `location`) as SplitPattern does.
SplitProgram read_split_pattern(std::string_view pattern, const std::string& location);

}  // namespace roformer
