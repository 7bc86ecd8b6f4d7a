// Extended grapheme clusters of Unicode (UAX #29): what a reader takes for one character.
#pragma once

#include <cstddef>
#include <string_view>

namespace roformer {

// Where the cluster that begins at `position` of valid UTF-8 ends; position < text.size(). Earlier
// text counts as another cluster's.
std::size_t grapheme_end(std::string_view text, std::size_t position);

}  // namespace roformer
