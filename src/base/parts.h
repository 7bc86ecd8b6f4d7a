// Takes texts apart: at a separator, and from the blanks around them.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace roformer {

// The parts of a text between separators. As with lines, a separator at the end begins no further
// part: "a||b|" has the parts "a", "" and "b", and an empty text has none.
inline std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// The text without the blanks at its ends.
inline std::string_view trimmed(std::string_view text, std::string_view blanks = " ") {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

}  // namespace roformer
