// UTF-8 from outside. Text is made valid once: each malformed sequence becomes U+FFFD and is
// counted, so that no later code needs to handle broken input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roformer {

// Returns the text itself if it is valid, else `storage` filled with the repaired text. One U+FFFD
// replaces each maximal malformed part, as the Unicode standard recommends (and as Python and ICU
// do). Adds their number to `replaced`.
std::string_view repair_utf8(std::string_view text, std::string& storage, std::uint64_t& replaced);

// The same as an object, which holds the repaired text.
struct ValidText {
  explicit ValidText(std::string_view raw) : text(repair_utf8(raw, storage, replaced)) {}
  ValidText(const ValidText&) = delete;
  ValidText& operator=(const ValidText&) = delete;

  std::string storage;
  std::uint64_t replaced = 0;
  std::string_view text;
};

bool is_valid_utf8(std::string_view text);

// True if no byte is above 127.
bool is_ascii(std::string_view text);

// The code points of valid text.
std::uint64_t count_characters(std::string_view text);

void append_utf8(std::string& text, char32_t code_point);

// The code point at `position` of valid text; moves `position` past it.
char32_t next_code_point(std::string_view text, std::size_t& position);

// True for a byte that continues a character.
inline bool is_continuation_byte(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}
// The beginning of the character that ends before `position`; position > 0.
std::size_t character_before(std::string_view text, std::size_t position);

}  // namespace roformer
