// The alphabet of byte-level vocabularies (GPT-2's bytes_to_unicode). Each of the 256 bytes has one
// printable character, so that a piece is text whatever bytes it represents. The space is written
// U+0120, the line end U+010A.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace roformer {

class ByteAlphabet {
 public:
  static const ByteAlphabet& instance();

  // The bytes of a piece, which is valid UTF-8. Nothing if it has a character outside of the
  // alphabet.
  std::optional<std::string> bytes_of(std::string_view piece) const;
  // The letters of bytes.
  std::string letters_of(std::string_view bytes) const;

 private:
  std::array<std::int16_t, 0x180> bytes_;  // of a code point; -1: not in the alphabet
  std::array<char32_t, 256> letters_;

  ByteAlphabet();
};

// As in the tokenizers' decoder, a piece with a character outside of the alphabet stays unchanged.
std::string bytes_of_piece(const std::string& piece);

}  // namespace roformer
