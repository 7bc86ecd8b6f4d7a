#include "text/byte_alphabet.h"

#include "text/utf8.h"

namespace roformer {
namespace {

constexpr char32_t kFirstSubstitute = 0x100;

// Bytes that are printable in Latin-1 stand for themselves.
bool is_printable_byte(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct ByteAlphabet {
  std::array<std::string, 256> characters;
  std::array<std::int16_t, 0x180> bytes;  // of a code point; -1: not in the alphabet

  ByteAlphabet() {
    bytes.fill(-1);
    char32_t substitute = kFirstSubstitute;
    for (int byte = 0; byte < 256; ++byte) {
      const char32_t c = is_printable_byte(byte) ? static_cast<char32_t>(byte) : substitute++;
      append_utf8(characters[static_cast<std::size_t>(byte)], c);
      bytes[c] = static_cast<std::int16_t>(byte);
    }
  }
};

const ByteAlphabet& byte_alphabet() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

}  // namespace

const std::array<std::string, 256>& byte_characters() {
  return byte_alphabet().characters;
}

std::string bytes_of_piece(std::string_view piece) {
  const auto& bytes = byte_alphabet().bytes;
  std::string result;
  for (std::size_t position = 0; position < piece.size();) {
    const char32_t c = next_code_point(piece, position);
    if (c >= bytes.size() || bytes[c] < 0) return std::string(piece);
    result += static_cast<char>(bytes[c]);
  }
  return result;
}

}  // namespace roformer
