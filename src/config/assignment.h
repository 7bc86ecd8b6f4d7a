// Files and flags before they are understood: a list of "this key gets this text". Later ones win;
// each keeps its place for messages.
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
  // The file or variant that lists it, which may set each key once; empty: a later one wins.
  SourceLocation list = {};
  // The choice of a scheme that follows from one of its options. It is none where the scheme is
  // part of the one that is chosen.
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

// Applies the assignments in order to the defaults. Keys and values that are wrong by themselves
// are added to `problems`. Keys that do not go together (an option that the chosen scheme lacks, or
// what check.h finds) are added to `contradictions`, which may be the same object. The settings can
// be used only if both are empty.
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

// Replaces such values in the assignments of one file, one variant or all flags. They, and the text
// of a formula (`position.formula.bias`), choose the scheme unless an assignment does; a different
// choice beside them is a problem.
std::vector<Assignment> expand_shorthands(const std::vector<Assignment>& assignments,
                                          Problems& problems);

}  // namespace roformer
