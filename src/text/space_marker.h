// How SentencePiece writes the space before a word inside a piece.
#pragma once

#include <string_view>

namespace roformer {

inline constexpr std::string_view kSpaceMarker = "\xE2\x96\x81";  // U+2581

}  // namespace roformer
