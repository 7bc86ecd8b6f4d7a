#include "text/utf8.h"

#include <unicode/utf8.h>

#include <algorithm>
#include <cstring>

namespace roformer {
namespace {

// The length of the ASCII prefix, eight bytes at a time.
std::size_t ascii_prefix(std::string_view text) {
  std::size_t position = 0;
  for (; position + 8 <= text.size(); position += 8) {
    std::uint64_t bytes;
    std::memcpy(&bytes, text.data() + position, 8);
    if (bytes & 0x8080808080808080ULL) break;
  }
  while (position < text.size() && static_cast<signed char>(text[position]) >= 0) ++position;
  return position;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  return ValidText(text).replaced == 0;
}

bool is_ascii(std::string_view text) {
  return ascii_prefix(text) == text.size();
}

std::string_view repair_utf8(std::string_view text, std::string& storage, std::uint64_t& replaced) {
  std::size_t copied = 0;
  std::uint64_t found = 0;
  std::size_t position = 0;
  while (position < text.size()) {
    if (static_cast<signed char>(text[position]) >= 0) {
      position += ascii_prefix(text.substr(position));
      continue;
    }
    const std::size_t start = position;
    UChar32 code_point;
    U8_NEXT(text.data(), position, text.size(), code_point);
    if (code_point >= 0) continue;
    if (found++ == 0) storage.clear();
    storage.append(text.substr(copied, start - copied));
    storage.append("\xEF\xBF\xBD");
    copied = position;
  }
  if (found == 0) return text;
  storage.append(text.substr(copied));
  replaced += found;
  return storage;
}

std::uint64_t count_characters(std::string_view text) {
  return static_cast<std::uint64_t>(text.size() -
                                    std::ranges::count_if(text, is_continuation_byte));
}

void append_utf8(std::string& text, char32_t code_point) {
  char bytes[U8_MAX_LENGTH];
  std::size_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, static_cast<UChar32>(code_point));
  text.append(bytes, length);
}

char32_t next_code_point(std::string_view text, std::size_t& position) {
  UChar32 code_point;
  U8_NEXT_UNSAFE(text.data(), position, code_point);
  return static_cast<char32_t>(code_point);
}

std::size_t character_before(std::string_view text, std::size_t position) {
  do {
    --position;
  } while (position > 0 && is_continuation_byte(text[position]));
  return position;
}

}  // namespace roformer
