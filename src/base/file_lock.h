// The kernel's lock of an open file (flock), freed when the process that holds it ends. Some file
// systems have none (Lustre without -o flock, some NFS servers, some containers): there the program
// goes on, and says once that nothing keeps two processes apart.
#pragma once

#include <filesystem>

namespace roformer {

enum class FileLock {
  ours,
  of_another,  // another process holds it
  none_here,   // this file system has no locks
};

// Does not wait. `path` is the file's, for messages. Throws Error (failure) for any other reason of
// the system's.
FileLock try_lock(int descriptor, const std::filesystem::path& path);

}  // namespace roformer
