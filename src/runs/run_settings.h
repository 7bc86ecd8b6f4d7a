// The settings that a run stored, and those with which it is resumed.
#pragma once

#include <filesystem>
#include <vector>

#include "config/assignment.h"
#include "config/settings.h"

namespace roformer {

// The resolved settings of a run or a checkpoint, with absolute paths. If the run was copied or
// moved, its paths point to its present place (put_in_place in config/load.h). Throws Error
// (failure) for a folder that is neither a run nor a checkpoint, and for a damaged file.
Settings read_run_settings(const std::filesystem::path& run_or_checkpoint);

// The stored settings of the run that the file and the flags name, changed by the flags. The file
// only names the run: if one of its keys differs from the stored settings, a warning shows both
// values. Throws Error (usage) if there is no such run and for a flag that the rules refuse.
Settings resumed_settings(const std::filesystem::path& file, const std::vector<Override>& flags);

}  // namespace roformer
