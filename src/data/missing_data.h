// What is said where a prepared set is not there.
#pragma once

#include <filesystem>
#include <string>

namespace roformer {

// A hint at how the set is made: by its recipe, where one lies at data/NAME.yaml for
// data/prepared/NAME, else by a command with files of the user's own.
std::string how_to_prepare(const std::filesystem::path& folder);

}  // namespace roformer
