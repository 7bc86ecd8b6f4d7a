// Scripts that are written without spaces between words: Chinese, Japanese, Thai, Lao, Khmer,
// Burmese and the like. There a piece of a vocabulary is the nearest thing to a word.
#pragma once

#include <string_view>

namespace roformer {

// Whether the first, or the last, character of the bytes is a letter of such a script. The bytes
// may be half characters: one whose end is missing is told by what is there of it.
bool begins_unspaced(std::string_view bytes);
bool ends_unspaced(std::string_view bytes);

}  // namespace roformer
