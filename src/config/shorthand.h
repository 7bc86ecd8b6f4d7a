// Sections of schemes that may be given as one value: `position.formula: FILE#NAME`,
// `position.layers: {0-2: rope, 3: none}`. Such a value chooses the scheme and stands for options
// of it, by which it is replaced before anything else reads it: what a run stores is the options.
#pragma once

#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/problems.h"

namespace roformer {

// "position.formula", "position.layers"
std::vector<std::string> shorthand_keys();
bool is_shorthand(const std::string& key);
// Whether a map with such a key is the value of this section and not a list of its options.
bool is_shorthand_map_key(const std::string& section, const std::string& key);

// The assignments of one file, one variant or all flags with the schemes' options in place of such
// values. They, and a formula's own text (`position.formula.bias`), choose the scheme where none of
// the assignments says which; beside another choice they are a problem.
std::vector<Assignment> expand_shorthands(const std::vector<Assignment>& assignments,
                                          Problems& problems);

}  // namespace roformer
