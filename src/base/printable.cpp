#include "base/printable.h"

#include <fmt/format.h>
#include <unicode/utf8.h>

#include <algorithm>
#include <cstdint>

namespace roformer {

NextCharacter next_character(std::string_view text) {
  std::size_t bytes = 0;
  UChar32 code = 0;
  U8_NEXT(text.data(), bytes, text.size(), code);
  if (code < 0) return {};
  return {.bytes = bytes, .code = static_cast<char32_t>(code), .valid = true};
}

namespace {

bool turns_direction(char32_t code) {
  return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool may_be_shown(char32_t code, bool one_line) {
  if (code == '\n' || code == '\t') return !one_line;
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool ends_line = code == 0x2028 || code == 0x2029;
  return !control && !ends_line && !turns_direction(code);
}

std::string clean(std::string_view text, bool one_line, std::size_t most_characters) {
  const auto plain = [](unsigned char c) { return c >= 0x20 && c < 0x7f; };
  if (text.size() <= most_characters && std::ranges::all_of(text, plain)) return std::string(text);
  std::string result;
  while (!text.empty() && most_characters-- > 0) {
    const NextCharacter next = next_character(text);
    if (next.valid && may_be_shown(next.code, one_line)) {
      result += text.substr(0, next.bytes);
    } else {
      result += '?';
    }
    text.remove_prefix(next.bytes);
  }
  return text.empty() ? result : result + "...";
}

}  // namespace

std::string clean_text(std::string_view text) {
  return clean(text, /*one_line=*/false, text.size());
}

std::string clean_line(std::string_view text) {
  return clean(text, /*one_line=*/true, text.size());
}

std::string escaped_controls(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const NextCharacter next = next_character(text);
    if (!next.valid || may_be_shown(next.code, /*one_line=*/true)) {
      result += text.substr(0, next.bytes);
    } else if (next.code == '\n' || next.code == '\t') {
      result += next.code == '\n' ? "\\n" : "\\t";
    } else {
      result += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(next.code));
    }
    text.remove_prefix(next.bytes);
  }
  return result;
}

std::string as_one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  return '"' + clean(text, /*one_line=*/true, kLongest) + '"';
}

}  // namespace roformer
