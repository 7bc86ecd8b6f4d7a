// What is said where a prepared set is not there.
#pragma once

#include <filesystem>
#include <string>

namespace roformer {

// A hint at the command that makes the set: with its recipe, where one lies at data/NAME.yaml for
// data/prepared/NAME, else with what the user has (`source`: "FILES").
std::string how_to_prepare(const std::filesystem::path& folder, const std::string& source);

}  // namespace roformer
