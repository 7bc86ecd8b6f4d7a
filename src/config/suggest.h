// "Did you mean ...": the known word that is nearest to a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
int edit_distance(std::string_view left, std::string_view right);

// The nearest of `known`, or "" when none is near (more than a third of the letters differ). A
// known dotted key whose last part is the misspelt word counts as near: `steps` finds
// `training.steps`.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

// "did you mean X", or "" without a near word.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace roformer
