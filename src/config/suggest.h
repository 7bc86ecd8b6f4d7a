// "Did you mean ...": finds the known word for a misspelt one or for another program's word.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// Lower case, underscores, without the hyphens of a flag: "--Learning-Rate" is "learning_rate".
std::string folded_word(std::string_view word);

// The number of insertions, deletions, replacements and swaps of neighbours that turn one text into
// the other.
int edit_distance(std::string_view left, std::string_view right);

// The word of `known` that the user probably meant, or "" if none is near. It tries in this order:
// the same word except for capitals and hyphens (`ROPE`); names of other programs (`--lr`, `gpu`,
// `rotary`); the beginning of a key (`training.keep` finds `training.keep_last`); the nearest word,
// with at most a third of its letters different; the last part of a dotted key (`steps` finds
// `training.steps`), in the same section first; the nearest last part. In a tie, the word with the
// longer common beginning wins.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

// "did you mean X", or "" if no word is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);
// "got WORD", followed by the suggestion.
std::string got_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace roformer
