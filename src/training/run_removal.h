// Removes a run from the disk, or gives it another name. Both hold the run's lock, so a training
// that goes on is never touched.
#pragma once

#include <filesystem>
#include <vector>

namespace roformer {

// Removes the run's files, and its folder unless the folder has files of the user, whose names are
// returned. If the process is killed, the next one that opens the folder finds the whole run or
// removes the rest (PreviousRun). Throws DirectoryInUse if a process holds the run, and Error if
// the folder or one of the run's files is a link, which is never followed.
std::vector<std::filesystem::path> remove_run(const std::filesystem::path& run);

// Renames the run's folder; both paths must be in one folder. A run that was renamed is read and
// resumed at its new place (put_in_place in config/load.h). Throws DirectoryInUse, Error (usage) if
// the new name is taken, and Error (failure) if the system refuses.
void rename_run(const std::filesystem::path& run, const std::filesystem::path& renamed);

}  // namespace roformer
