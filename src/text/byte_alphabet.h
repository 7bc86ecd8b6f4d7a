// The alphabet in which byte-level vocabularies are written (GPT-2's bytes_to_unicode): each of the
// 256 bytes has one printable character, so that a piece is text whatever bytes it stands for. The
// space is written U+0120, the line end U+010A.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace roformer {

// The character of each byte, in UTF-8.
const std::array<std::string, 256>& byte_characters();

// The bytes of a piece that is written in the alphabet; one with any other character stands for
// itself, as the tokenizers' decoder takes it. The piece is valid UTF-8.
std::string bytes_of_piece(std::string_view piece);
}  // namespace roformer
