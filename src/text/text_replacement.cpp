#include "text/text_replacement.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/growing_text.h"

namespace roformer {

TextPattern::TextPattern(const JsonFields& step) {
  const JsonFields pattern = step.object("pattern");
  if (pattern.has("String")) {
    literal_ = pattern.text("String");
    if (literal_.empty()) pattern.refuse("String", "at least one character");
  } else if (pattern.has("Regex")) {
    expression_ = std::make_shared<const SplitPattern>(pattern.text("Regex"), step.file());
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

std::string short_text(const JsonFields& step, const char* name) {
  constexpr std::size_t kMostBytes = 64;
  std::string text = step.text(name);
  if (text.size() > kMostBytes) step.refuse(name, fmt::format("at most {} bytes", kMostBytes));
  return text;
}

TextReplacement::TextReplacement(const JsonFields& step)
    : pattern_(step), content_(short_text(step, "content")) {}

std::string TextReplacement::apply(std::string_view text) const {
  std::int64_t effort = SplitPattern::effort_for(text.size());
  GrowingText result(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const SplitPattern::Match match = pattern_.find(text, position, effort);
    result.append(text.substr(position, match.begin - position));
    if (match.begin < match.end) result.append(content_);
    position = match.end;
  }
  return std::move(result).text();
}

}  // namespace roformer
