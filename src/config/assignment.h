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

}  // namespace roformer
