// Models of SentencePiece's library before it uses them. The library follows the model's table of
// normalisation rules without checking where it leads, so a damaged or hostile model would make it
// read outside of its memory; and it answers damage with a status, an exception of its own or one
// of the standard library.
#pragma once

#include <string>
#include <string_view>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace roformer {

// How SentencePiece writes the space before a word inside a piece.
inline constexpr std::string_view kSpaceMarker = "\xE2\x96\x81";  // U+2581

// Loads the contents of a model file. Returns what is wrong with them; empty when the processor has
// read them.
std::string load_sentencepiece(sentencepiece::SentencePieceProcessor& processor,
                               std::string_view contents);

// Whether every text is normalised within the tables of a serialised ModelProto; true where it has
// none. Fields that cannot be read are left to the library, which refuses them.
bool has_safe_normalization(std::string_view model);

// Whether a rule matches a text with a space in it ("a ," becomes "a,"), or writes what
// SentencePiece writes for a space: then a text may not be cut at its spaces before it is
// normalised.
bool normalization_reaches_over_spaces(std::string_view model);

}  // namespace roformer
