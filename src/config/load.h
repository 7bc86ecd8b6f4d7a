// Settings from a file, from the files that it extends, and from flags. Flags take precedence over
// the file, and the file over those that it extends.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/problems.h"
#include "config/settings.h"

namespace roformer {

// Returns the keys of the model that `model.from` names; files and flags override them. The
// argument is absolute or relative to the working directory.
using SourceKeys = std::function<std::vector<Override>(const std::filesystem::path& from)>;

// The settings of one run. Throws one Error (usage) with all problems, one line each: "file:line:
// key: got X, wanted Y (hint: ...)". settings.run defaults to the file's stem. Without
// `source_keys`, model.from does not change other keys, because a stored run already holds all of
// them.
Settings load_settings(const std::filesystem::path& file,
                       const std::vector<Override>& overrides = {},
                       const SourceKeys& source_keys = {});

// For commands that use one scheme. Throws Error (usage) for a flag without effect: an option of
// another scheme, or a key that other settings override. A file may hold options of several
// schemes.
void refuse_idle_flags(const Settings& settings, const std::vector<Override>& flags);
// Says why a key has no effect beside the other settings; nothing if it has one. Ignores options of
// schemes.
std::optional<Problem> idle_problem(const Settings& settings, const std::string& key);

// The values of a file and flags, each by itself. Does not look for contradictions and does not
// open model.from. Used for an existing run, which has stored its settings.
struct GivenValues {
  Settings settings;           // settings.run as load_settings sets it
  std::set<std::string> keys;  // keys that the file sets and no flag sets
};
GivenValues load_values(const std::filesystem::path& file,
                        const std::vector<Override>& overrides = {});

// Inserts the keys of the model that model.from names, if any, before the assignments. Leaves out
// keys that the task does not use.
void add_source_keys(std::vector<Assignment>& assignments, const SourceKeys& source_keys);

// The defaults changed by flags, for commands that work without a file.
Settings default_settings(const std::vector<Override>& overrides = {});

// Shortens the warm-up when flags make a training shorter than its file does. If a flag sets
// training.steps and no flag sets training.warmup, and the warm-up is longer than the training or
// cannot be compared with it (minutes beside another unit), an added assignment sets the warm-up to
// a tenth of the training. The same for training.decay. Returns a line that says so, or "". Leaves
// a file that contradicts itself alone, because its author should know.
std::string shorten_warmup(std::vector<Assignment>& assignments);

// Flags for a quick test of a training named "NAME-smoke". Each stage takes two steps, logs both,
// and ends with one validation of a few rows where the task can limit them.
std::vector<Override> smoke_flags(const Settings& settings);

// Adapts the assignments of a run's config.yaml to the place where the file is now. The file names
// the folder in which the run was made, but users copy and move runs, alone or with the whole
// project. `run` and `runs` become the file's folder. The old and the new place may share their
// end: /old/runs/x and /new/runs/x differ in /old and /new. A path inside /old then becomes the
// same path inside /new if that exists. Other files, and runs that were not moved, stay unchanged.
void put_in_place(const std::filesystem::path& file, std::vector<Assignment>& assignments);

}  // namespace roformer
