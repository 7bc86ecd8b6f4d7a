// The alphabet of byte-level vocabularies (GPT-2's bytes_to_unicode). Each of the 256 bytes has one
// printable character, so that a piece is text whatever bytes it represents. The space is written
// U+0120, the line end U+010A.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/utf8.h"

namespace roformer {

class ByteAlphabet {
 public:
  ByteAlphabet() {
    bytes_.fill(-1);
    char32_t substitute = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const bool printable_in_latin_1 =
          (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      const char32_t c = printable_in_latin_1 ? static_cast<char32_t>(byte) : substitute++;
      bytes_[c] = static_cast<std::int16_t>(byte);
      characters_[static_cast<std::size_t>(byte)] = c;
    }
  }

  char32_t character_of(unsigned char byte) const { return characters_[byte]; }

  // The bytes of a piece, which is valid UTF-8. Empty if it has a character outside the alphabet.
  std::optional<std::string> bytes_of(std::string_view piece) const {
    std::string result;
    for (std::size_t position = 0; position < piece.size();) {
      const char32_t c = next_code_point(piece, position);
      if (c >= bytes_.size() || bytes_[c] < 0) return std::nullopt;
      result += static_cast<char>(bytes_[c]);
    }
    return result;
  }

  // The letters of bytes.
  std::string letters_of(std::string_view bytes) const {
    std::string result;
    result.reserve(2 * bytes.size());
    for (const char byte : bytes)
      append_utf8(result, character_of(static_cast<unsigned char>(byte)));
    return result;
  }

 private:
  std::array<std::int16_t, 0x180> bytes_;  // of a code point; -1: not in the alphabet
  std::array<char32_t, 256> characters_;   // of a byte
};

inline const ByteAlphabet& byte_alphabet() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

// As in the tokenizers' decoder, a piece with a character outside the alphabet stays unchanged.
inline std::string bytes_of_piece(const std::string& piece) {
  return byte_alphabet().bytes_of(piece).value_or(piece);
}

}  // namespace roformer
