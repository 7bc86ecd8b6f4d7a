// Checks of data.directory before a command begins its work.
#pragma once

#include <filesystem>
#include <string>

#include "config/settings.h"
#include "data/split.h"

namespace roformer {

// The problem with the location of the data, in one line with a hint; "" where the data seem to
// exist. Reads a description at most, never the data.
std::string data_problem(const Settings& settings);

// Says that a split of prepared data is empty; "" where it is not, or this cannot be told.
std::string split_problem(const Settings& settings, Split split);

// A hint for a missing set: the command that prepares it from its recipe, where data/NAME.yaml
// exists for data/prepared/NAME, else from `source` ("FILES").
std::string how_to_prepare(const std::filesystem::path& folder, const std::string& source);

}  // namespace roformer
