// The assignments of files and flags before they are interpreted: a list of "this key gets this
// text". A later assignment wins; each remembers its place for messages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/problems.h"
#include "config/settings.h"

namespace roformer {

struct Assignment {
  std::string key;       // as written, dotted: "training.steps", "position", "position.buckets"
  std::string text;      // the value; may be empty
  SourceLocation where;  // "file:line" or the flag
  std::filesystem::path folder;  // the base of relative paths; empty: the working directory
  // The file or variant that lists the assignment and may set each key only once; empty: a later
  // assignment wins.
  SourceLocation list = {};
  // True if an option of the scheme implies this choice of it. Ignored if the scheme is part of the
  // chosen one.
  bool implied = false;
};

// A flag --KEY TEXT.
struct Override {
  std::string key;
  std::string text;
};

std::vector<Assignment> to_assignments(const std::vector<Override>& overrides);

// True for a key of the schema, for `position` (short for position.scheme), and for
// `position.OPTION` if some scheme has that option.
bool is_assignable(const std::string& key);
// True if two spellings set the same key under some scheme: `position` and `position.scheme`, or
// `position.base` and `position.rope.base`.
bool may_mean_the_same(const std::string& left, const std::string& right);
// Every key that can be assigned, for suggestions and flags.
const std::vector<std::string>& assignable_keys();

// Applies the assignments in order to the defaults. Adds unknown keys and invalid values to
// `problems`. Adds keys that do not fit together (an option that the chosen scheme lacks, or a
// finding of check.h) to `contradictions`, which may be the same object. The settings are usable
// only if both stay empty.
Settings resolve(const std::vector<Assignment>& assignments, Problems& problems,
                 Problems& contradictions);

// Some schemes accept one value for their whole section: `position.formula: FILE#NAME`,
// `position.layers: {0-2: rope, 3: none}`. Such a value chooses the scheme. It is replaced by the
// scheme's options before anything else reads it, and a run stores these options.

// "position.formula", "position.layers"
std::vector<std::string> shorthand_keys();
bool is_shorthand(const std::string& key);
// Whether a map with this key is the value of the section rather than a list of its options.
bool is_shorthand_map_key(const std::string& section, const std::string& key);

// Replaces such values in the assignments of one file, of one variant or of all flags. Unless an
// assignment chooses the scheme, these values choose it, and so does the text of a formula
// (`position.formula.bias`). If an assignment chooses another scheme, that is a problem.
std::vector<Assignment> expand_shorthands(const std::vector<Assignment>& assignments,
                                          Problems& problems);

}  // namespace roformer
