// Loads models of SentencePiece's library safely. The library follows the model's table of
// normalisation rules without checking it, so a damaged or hostile model could make it read outside
// its memory. For other damage the library returns a status, or throws its own exception or a
// standard one.
#pragma once

#include <string>
#include <string_view>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace roformer {

// How SentencePiece writes the space before a word inside a piece.
inline constexpr std::string_view kSpaceMarker = "\xE2\x96\x81";  // U+2581

// Loads the contents of a model file. Returns the problem with them; empty if the processor has
// read them.
std::string load_sentencepiece(sentencepiece::SentencePieceProcessor& processor,
                               std::string_view contents);

// Whether every text is normalised within the tables of a serialised ModelProto; true if it has
// none. Ignores fields that cannot be read, since the library refuses them.
bool has_safe_normalization(std::string_view model);

// Whether a rule matches a text with a space in it ("a ," becomes "a,"), or writes SentencePiece's
// mark for a space. Then a text must not be cut at its spaces before it is normalised.
bool normalization_reaches_over_spaces(std::string_view model);

}  // namespace roformer
