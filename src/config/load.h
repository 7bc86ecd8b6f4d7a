// Settings from a file, the files that it extends, and flags, in that order of growing priority.
#pragma once

#include <filesystem>
#include <vector>

#include "config/assignment.h"
#include "config/settings.h"

namespace roformer {

// The settings of one run. All problems come at once in one Error (usage), one line each:
// "file:line: key: got X, wanted Y (hint: ...)". settings.run defaults to the file's stem.
Settings load_settings(const std::filesystem::path& file,
                       const std::vector<Override>& overrides = {});

// The defaults and flags alone, for commands that work without a file.
Settings default_settings(const std::vector<Override>& overrides = {});

}  // namespace roformer
