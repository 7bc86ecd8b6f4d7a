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

// What `model.from` brings along: values of keys that stand below those of the file and the flags.
// Asked for once the path is known, which is absolute or starts at the working directory.
using SourceKeys = std::function<std::vector<Override>(const std::filesystem::path& from)>;

// The settings of one run. All problems come at once in one Error (usage), one line each:
// "file:line: key: got X, wanted Y (hint: ...)". settings.run defaults to the file's stem. Without
// `source_keys` model.from is a key like others: what a run stored holds all of them.
Settings load_settings(const std::filesystem::path& file,
                       const std::vector<Override>& overrides = {},
                       const SourceKeys& source_keys = {});

// For commands that use one scheme: throws Error (usage) for a flag that would say nothing, since
// it is an option of another scheme or other settings take its place. A file may hold options of
// several.
void refuse_idle_flags(const Settings& settings, const std::vector<Override>& flags);
// That a key says nothing beside the other settings; nothing for one that does. Options of schemes
// apart.
std::optional<Problem> idle_problem(const Settings& settings, const std::string& key);

// What a file and flags say, value by value: whether the values go together is not asked, and
// model.from is not opened. For a run that exists and has settings of its own.
struct GivenValues {
  Settings settings;           // settings.run as load_settings sets it
  std::set<std::string> keys;  // that the file sets and no flag does
};
GivenValues load_values(const std::filesystem::path& file,
                        const std::vector<Override>& overrides = {});

// Puts what model.from brings along, if it is assigned, before the assignments; what serves another
// task than theirs stays behind.
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

}  // namespace roformer
