// A rule of a tokenizer.json that replaces all matches of a pattern or a literal text:
// {"pattern": {"String": " "}, "content": "_"}.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "text/split_pattern.h"

namespace roformer {

// Finds the matches of {"String": ...} or {"Regex": ...}.
class TextPattern {
 public:
  // Reads the field "pattern". Throws Error (failure) for a pattern that is not read here.
  explicit TextPattern(const JsonFields& step, EmptyMatches empty = EmptyMatches::refused);

  // As those of SplitPattern.
  SplitPattern::Match find(std::string_view text, std::size_t position, std::int64_t& effort) const;
  bool matches_at_end(std::string_view text, std::int64_t& effort) const;

 private:
  std::string literal_;
  std::shared_ptr<const SplitPattern> expression_;  // in the place of the literal text
};

class TextReplacement {
 public:
  // Reads the fields "pattern" and "content".
  explicit TextReplacement(const JsonFields& step);

  std::string apply(std::string_view text) const;

 private:
  TextPattern pattern_;
  std::string content_;
};

// A text of the file that is written into other texts; at most 64 bytes.
std::string short_text(const JsonFields& step, const char* name);

}  // namespace roformer
