// Where words begin in pieces that have a marker for the space before a word, as SentencePiece's
// have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/characters.h"

namespace roformer {

// Adds the words that no marker begins to `begins`: those of scripts without spaces between words.
// `piece_of(i)`: piece i of the text.
template <class PieceOf>
void find_marked_words(PieceOf piece_of, std::string_view marker, std::vector<char>& begins) {
  // A marker that is a separate piece forms one word with the text after it.
  bool after_unspaced = false, after_marker = false;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::string& piece = piece_of(i);
    if (after_unspaced || (begins_unspaced(piece) && !after_marker)) begins[i] = 1;
    after_unspaced = ends_unspaced(piece);
    after_marker = piece == marker;
  }
}

}  // namespace roformer
