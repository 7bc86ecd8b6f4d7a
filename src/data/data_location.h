// Whether what data.directory names is there, for those who want to know before they begin.
#pragma once

#include <filesystem>
#include <string>

#include "config/settings.h"
#include "data/split.h"

namespace roformer {

// What is wrong with the location of the data, in one line with a hint; "" where they seem to be
// there. Reads a description at most, never the data.
std::string data_problem(const Settings& settings);

// That a set of prepared data is empty, in words; "" where it is not, or cannot be told.
std::string split_problem(const Settings& settings, Split split);

// What is said where a prepared set is not there.

// A hint at the command that makes the set: with its recipe, where one lies at data/NAME.yaml for
// data/prepared/NAME, else with what the user has (`source`: "FILES").
std::string how_to_prepare(const std::filesystem::path& folder, const std::string& source);

}  // namespace roformer
