// Checks of data.directory before a command begins its work.
#pragma once

#include <filesystem>
#include <string>

#include "config/settings.h"
#include "data/split.h"

namespace roformer {

// The problem with the location of the data, in one line with a hint; "" if the data seem to exist.
// Reads at most a description, never the data.
std::string data_problem(const Settings& settings);

// A message that a split of prepared data is empty; "" if it is not empty, or if this cannot be
// determined.
std::string split_problem(const Settings& settings, Split split);

// A hint for a missing set: the command that prepares it. The command uses the recipe
// data/NAME.yaml of data/prepared/NAME if that exists, else `source` ("FILES").
std::string how_to_prepare(const std::filesystem::path& folder, const std::string& source);

}  // namespace roformer
