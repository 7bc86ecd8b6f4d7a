// "Did you mean ...": the known word that a misspelt or foreign one stands for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roformer {

// Insertions, deletions, replacements and swaps of neighbours that turn one text into the other.
int edit_distance(std::string_view left, std::string_view right);

// The word of `known` that is meant, or "" when none is near. In this order: the same but for
// capitals and hyphens (`ROPE`); what other programs call it (`--lr`, `gpu`, `rotary`); the
// beginning of a key (`training.keep` finds `training.keep_last`); the nearest in letters, of which
// at most a third may differ, of whole words; the last part of a dotted key (`steps` finds
// `training.steps`), one of the same section before others; the nearest in letters of last parts.
// Of two equally near ones it is the one that begins alike for longer.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

// "did you mean X", or "" without a near word.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);
// "got WORD", with the suggestion behind it.
std::string got_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace roformer
