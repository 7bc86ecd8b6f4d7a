// Exports go into a folder of their own.
#pragma once

#include <filesystem>

namespace roformer {

// Throws Error (usage) where the folder is there and something is in it.
void require_new_folder(const std::filesystem::path& folder);

}  // namespace roformer
