// Settings from a file, the files that it extends, and flags, in that order of growing priority.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "config/assignment.h"
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

// Puts what model.from brings along, if it is assigned, before the assignments.
void add_source_keys(std::vector<Assignment>& assignments, const SourceKeys& source_keys);

// The defaults and flags alone, for commands that work without a file.
Settings default_settings(const std::vector<Override>& overrides = {});

}  // namespace roformer
