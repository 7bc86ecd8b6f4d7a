#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace roformer {
namespace {

struct NextCharacter {
  std::size_t bytes = 1;
  char32_t code = 0;
  bool valid = false;  // as UTF-8: the shortest form, no half of a pair
};

NextCharacter next_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return {.code = lead, .valid = true};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || bytes > text.size()) return {};
  char32_t code = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code = code << 6 | (byte & 0x3fU);
  }
  const bool shortest = bytes == 2 || code >= (bytes == 3 ? 0x800U : 0x10000U);
  const bool half = code >= 0xd800 && code < 0xe000;
  if (!shortest || half || code > 0x10ffff) return {};
  return {.bytes = bytes, .code = code, .valid = true};
}

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

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  return '"' + clean(text, /*one_line=*/true, kLongest) + '"';
}

}  // namespace roformer
