// Files that come with the program: configurations, recipes of data, scripts. A user names them as
// they are named in the sources ("configs/quickstart.yaml"), from any working directory. Paths
// inside such a file keep their meaning: they are relative to the name that the user gave, so data
// and runs belong to the working directory.
#pragma once

#include <filesystem>
#include <string>

namespace roformer {

// The folder that holds configs/, data/ and scripts/: share/roformer of an installed program, the
// sources of a program in its build folder. Empty if there is neither.
const std::filesystem::path& shipped_folder();

// The place of a file or folder that the user named. `given` itself if it exists, if it is absolute
// or if nothing of that name is shipped; else the shipped one, which the log says once.
std::filesystem::path located(const std::filesystem::path& given);

// The same with another folder than this program's; the log is left alone.
std::filesystem::path located_in(const std::filesystem::path& shipped,
                                 const std::filesystem::path& given);

// For a hint about a file that located() did not find: the folders in which it was looked for.
// Empty if that is only the place that the path itself names.
std::string searched_folders(const std::filesystem::path& given);

}  // namespace roformer
