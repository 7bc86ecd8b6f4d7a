#include "text/byte_alphabet.h"

#include "text/utf8.h"

namespace roformer {

ByteAlphabet::ByteAlphabet() {
  bytes_.fill(-1);
  char32_t substitute = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable_in_latin_1 =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    const char32_t c = printable_in_latin_1 ? static_cast<char32_t>(byte) : substitute++;
    bytes_[c] = static_cast<std::int16_t>(byte);
    letters_[static_cast<std::size_t>(byte)] = c;
  }
}

const ByteAlphabet& ByteAlphabet::instance() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

std::optional<std::string> ByteAlphabet::bytes_of(std::string_view piece) const {
  std::string result;
  for (std::size_t position = 0; position < piece.size();) {
    const char32_t c = next_code_point(piece, position);
    if (c >= bytes_.size() || bytes_[c] < 0) return std::nullopt;
    result += static_cast<char>(bytes_[c]);
  }
  return result;
}

std::string ByteAlphabet::letters_of(std::string_view bytes) const {
  std::string result;
  result.reserve(2 * bytes.size());
  for (const char byte : bytes) append_utf8(result, letters_[static_cast<unsigned char>(byte)]);
  return result;
}

std::string bytes_of_piece(const std::string& piece) {
  return ByteAlphabet::instance().bytes_of(piece).value_or(piece);
}

}  // namespace roformer
