// What files and flags say, before it is understood: a list of "this key gets this text", in the
// order in which later ones win, each with where it stands for messages.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/problems.h"
#include "config/settings.h"

namespace roformer {

struct Assignment {
  std::string key;       // as written, dotted: "training.steps", "position", "position.buckets"
  std::string text;      // the value; "" for nothing
  SourceLocation where;  // "file:line" or the flag
  std::filesystem::path folder;  // relative paths start here; empty: the working directory
  // The file or variant that lists it, in which no two may mean one key; empty: a later one wins.
  SourceLocation list = {};
  // A choice of a scheme that only an option of it implies: none where the scheme is a part of what
  // is chosen already.
  bool implied = false;
};

// A flag: --KEY TEXT.
struct Override {
  std::string key;
  std::string text;
};

std::vector<Assignment> to_assignments(const std::vector<Override>& overrides);

// True for a schema key, `position` (short for position.scheme) and `position.OPTION` for an option
// that some scheme has.
bool is_assignable(const std::string& key);
// True for two spellings that set the same key under some scheme: `position` and `position.scheme`,
// `position.base` and `position.rope.base`.
bool may_mean_the_same(const std::string& left, const std::string& right);
// Every key that can be assigned, for suggestions and flags.
const std::vector<std::string>& assignable_keys();

// Applies the assignments in order to the defaults. Keys and values that nothing could make right
// are added to `problems`; keys that do not go together (an option that the chosen scheme lacks,
// and what check.h finds) to `contradictions`, which may be the same object. The settings are of
// use only without any.
Settings resolve(const std::vector<Assignment>& assignments, Problems& problems,
                 Problems& contradictions);

// Some sections of schemes may be given as one value: `position.formula: FILE#NAME`,
// `position.layers: {0-2: rope, 3: none}`. Such a value chooses the scheme and is replaced by
// options of it before anything else reads it; a run stores the options.

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
