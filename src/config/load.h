// Settings from a file, the files that it extends, and flags, in that order of growing priority.
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

// The keys of the model that `model.from` names. Files and flags override them. It is called with a
// path that is absolute or starts at the working directory.
using SourceKeys = std::function<std::vector<Override>(const std::filesystem::path& from)>;

// The settings of one run. All problems come at once in one Error (usage), one line each:
// "file:line: key: got X, wanted Y (hint: ...)". settings.run defaults to the file's stem. Without
// `source_keys` model.from has no effect on other keys: a stored run holds all of them.
Settings load_settings(const std::filesystem::path& file,
                       const std::vector<Override>& overrides = {},
                       const SourceKeys& source_keys = {});

// For commands that use one scheme: throws Error (usage) for a flag without effect, since it is an
// option of another scheme or other settings override it. A file may hold options of several.
void refuse_idle_flags(const Settings& settings, const std::vector<Override>& flags);
// Why a key has no effect beside the other settings, or nothing. Options of schemes are not
// considered.
std::optional<Problem> idle_problem(const Settings& settings, const std::string& key);

// The values of a file and flags, one by one: contradictions are not looked for, and model.from is
// not opened. For a run that exists and has stored its settings.
struct GivenValues {
  Settings settings;           // settings.run as load_settings sets it
  std::set<std::string> keys;  // that the file sets and no flag does
};
GivenValues load_values(const std::filesystem::path& file,
                        const std::vector<Override>& overrides = {});

// Puts the keys of the model that model.from names, if any, before the assignments, without those
// that their task does not use.
void add_source_keys(std::vector<Assignment>& assignments, const SourceKeys& source_keys);

// The defaults and flags alone, for commands that work without a file.
Settings default_settings(const std::vector<Override>& overrides = {});

// Flags may make a training shorter than its file has it. Where a flag says training.steps last and
// no flag training.warmup, a warm-up that is longer than the training, or cannot be compared with
// it (minutes beside another unit), becomes a tenth of it, as one more assignment. Returns the line
// that says so, or "". A file that contradicts itself is not mended: its author should know.
std::string shorten_warmup(std::vector<Assignment>& assignments);

// The flags that make a training one of two steps (of each stage), each of them logged, with one
// validation at its end (of each stage) of a few rows, where the task can be told so, and another
// name: "NAME-smoke".
std::vector<Override> smoke_flags(const Settings& settings);

// A run's config.yaml names the folder where the run was made, and runs are copied and moved, alone
// or with the whole project. Changes the assignments of such a file to where it lies now: `run` and
// `runs` become its folder. A path inside what was copied along (the old and the new place without
// the end that they share: /old and /new for /old/runs/x and /new/runs/x) becomes the new one, if
// it exists. Other files, and runs that were not moved, stay as they are.
void put_in_place(const std::filesystem::path& file, std::vector<Assignment>& assignments);

}  // namespace roformer
