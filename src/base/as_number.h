// Numbers in texts that people write: column numbers, scores, ids.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace roformer {

// The number that the whole text is; nothing for another text and for a number out of range.
template <class Number>
std::optional<Number> as_number(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace roformer
