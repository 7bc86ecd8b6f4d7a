// The names that a run writes at the top of its folder. All others are the user's and stay.
#pragma once

#include <filesystem>

#include "training/run_directory.h"

namespace roformer {

// Whether a run, its lock or a killed process left the name. Tokenizers are not among them.
bool is_run_file(std::filesystem::path name);

// Runs before anything is written: the run's entries in the folder must be plain files and folders.
// Throws Error (failure) for a link, a pipe or a device.
void require_plain_run(const std::filesystem::path& run);

// The names that --overwrite replaces and that are removed with the run, tokenizers included.
PreviousRun::IsOurs replaced_in(const std::filesystem::path& run);

}  // namespace roformer
