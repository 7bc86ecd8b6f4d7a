// "Did you mean ...": the known word that is meant by a misspelt one, or by another program's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
int edit_distance(std::string_view left, std::string_view right);

// The word of `known` that is meant, or "" when none is near. Tried in this order: the same word
// but for capitals and hyphens (`ROPE`); other programs' names (`--lr`, `gpu`, `rotary`); the
// beginning of a key (`training.keep` finds `training.keep_last`); the nearest word, in which at
// most a third of the letters differ; the last part of a dotted key (`steps` finds
// `training.steps`), in the same section first; the nearest last part. A tie goes to the word with
// the longer common beginning.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

// "did you mean X", or "" without a near word.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);
// "got WORD", followed by the suggestion.
std::string got_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace roformer
