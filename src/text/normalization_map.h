// The table of rules inside a model of SentencePiece's library that says how text is normalised.
// The library follows it without looking where it leads, so that a damaged or hostile model would
// make it read outside of its memory.
#pragma once

#include <string_view>

namespace roformer {

// Whether every text is normalised within the tables of a serialised ModelProto; true where it has
// none. Fields that cannot be read are left to the library, which refuses them.
bool has_safe_normalization(std::string_view model);

// Whether a rule has a space in what it matches ("a ," becomes "a,"), or writes what SentencePiece
// writes for a space: then a text may not be cut at its spaces before it is normalised.
bool normalization_reaches_over_spaces(std::string_view model);

}  // namespace roformer
