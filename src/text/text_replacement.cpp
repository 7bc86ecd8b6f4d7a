#include "text/text_replacement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/growing_text.h"
#include "text/utf8.h"

namespace roformer {

TextPattern::TextPattern(const JsonFields& step, EmptyMatches empty) {
  const JsonFields pattern = step.object("pattern");
  if (pattern.has("String")) {
    literal_ = pattern.text("String");
    if (literal_.empty()) pattern.refuse("String", "at least one character");
  } else if (pattern.has("Regex")) {
    expression_ = std::make_shared<const SplitPattern>(pattern.text("Regex"), step.file(), empty);
  } else {
    step.refuse("pattern", "an object with \"String\" or \"Regex\"");
  }
}

SplitPattern::Match TextPattern::find(std::string_view text, std::size_t position,
                                      std::int64_t& effort) const {
  if (expression_) return expression_->find(text, position, effort);
  const std::size_t begin = std::min(text.find(literal_, position), text.size());
  return {.begin = begin, .end = std::min(begin + literal_.size(), text.size())};
}

bool TextPattern::matches_at_end(std::string_view text, std::int64_t& effort) const {
  return expression_ && expression_->matches_at_end(text, effort);
}

std::string short_text(const JsonFields& step, const char* name) {
  constexpr std::size_t kMostBytes = 64;
  std::string text = step.text(name);
  if (text.size() > kMostBytes) step.refuse(name, fmt::format("at most {} bytes", kMostBytes));
  return text;
}

TextReplacement::TextReplacement(const JsonFields& step)
    : pattern_(step, EmptyMatches::allowed), content_(short_text(step, "content")) {}

std::string TextReplacement::apply(std::string_view text) const {
  std::int64_t effort = SplitPattern::effort_for(text.size());
  GrowingText result(text.size());
  std::size_t replaced = std::string_view::npos;  // the end of the last match
  for (std::size_t position = 0; position < text.size();) {
    const SplitPattern::Match match = pattern_.find(text, position, effort);
    result.append(text.substr(position, match.begin - position));
    position = match.end;
    if (match.begin == text.size()) break;
    // As Oniguruma, which finds no empty match where a match has ended, and goes on after a
    // character.
    const bool empty = match.begin == match.end;
    if (!empty || match.begin != replaced) result.append(content_);
    if (!empty) {
      replaced = match.end;
      continue;
    }
    const std::size_t begin = position;
    next_code_point(text, position);
    result.append(text.substr(begin, position - begin));
  }
  if (!text.empty() && replaced != text.size() && pattern_.matches_at_end(text, effort))
    result.append(content_);
  return std::move(result).text();
}

}  // namespace roformer
