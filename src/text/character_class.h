// Sets of characters in the patterns that split text, such as [^\s\p{L}]: ranges, general
// categories, scripts and other sets.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

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

}  // namespace roformer
