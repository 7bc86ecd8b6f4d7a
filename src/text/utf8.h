// UTF-8 at the gate: text from outside is made valid once, each malformed sequence replaced by
// U+FFFD and counted, so that no later code needs to think about broken input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace roformer {

// Returns the text itself when it is valid, else `storage` filled with the repaired text. One
// U+FFFD stands for each maximal malformed part, as the Unicode standard recommends (and as Python
// and ICU do); `replaced` grows by their number.
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

// True when no byte is above 127.
bool is_ascii(std::string_view text);

// Of valid text, in code points.
std::uint64_t count_characters(std::string_view text);

void append_utf8(std::string& text, char32_t code_point);

// The code point at `position` of valid text; moves `position` past it.
char32_t next_code_point(std::string_view text, std::size_t& position);

// True for a byte that continues a character.
inline bool is_continuation_byte(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}
// Where the character that ends before `position` begins; position > 0.
std::size_t character_before(std::string_view text, std::size_t position);

}  // namespace roformer
