// General categories of code points as the regular expressions of Hugging Face's tokenizers know
// them (Unicode 16), whatever the version of ICU.
#pragma once

#include <cstdint>

namespace roformer {

// A mask of U_GC_... with one bit.
std::uint32_t code_point_category(char32_t c);

// What a regular expression's \w is: letters, marks, digits and connectors.
bool is_word_character(char32_t c);

}  // namespace roformer
