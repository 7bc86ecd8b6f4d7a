// A run's own config.yaml names the place where the run was made. Runs are copied and moved, alone
// or with the whole project: the place where one was found holds, and so do the data beside it.
#pragma once

#include <filesystem>
#include <vector>

#include "config/assignment.h"

namespace roformer {

// Changes the assignments of a file that a run stored, or its copy in a checkpoint, to where the
// file lies now: `run` and `runs` become its folder. A path inside what was copied along (the old
// and the new place without the end that they share: /old and /new for /old/runs/x and /new/runs/x)
// becomes the one there, if something lies there. Other files, and runs that lie where they were
// made, are left as they are.
void put_in_place(const std::filesystem::path& file, std::vector<Assignment>& assignments);

}  // namespace roformer
