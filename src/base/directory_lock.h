// Locks files and directories, on one machine and across machines. The kernel holds the locks
// (flock) and frees them when the process is killed. Some network file systems do not carry these
// locks between machines. There the lock file of a directory names its holder and shows signs of
// life.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/inner_path.h"
#include "base/process.h"

namespace roformer {

enum class FileLock {
  ours,
  of_another,  // another process holds the lock
  none_here,   // this file system has no locks
};

// Locks an open file without waiting. `path` is for messages. If the file system has no locks
// (Lustre without -o flock, some NFS servers, some containers), the program warns once and
// continues. Throws Error (failure) for any other problem.
FileLock try_lock(int descriptor, const std::filesystem::path& path);

struct DirectoryLockOptions {
  std::string host = host_name();
  std::chrono::milliseconds beat{2000};  // between two signs of life in the file
  // A holder on another machine counts as dead after this time without a sign of life.
  std::chrono::milliseconds patience{10'000};
};

// Thrown if another process holds the directory.
class DirectoryInUse : public Error {
 public:
  using Error::Error;
};

// Holds DIRECTORY/.lock until destroyed. The file says "PROCESS HOST NUMBER", and the number grows.
// Throws DirectoryInUse, which names the process and the machine, if another process holds it. If
// another machine left the file, or the file system has no locks, the constructor watches it for
// `patience`. The folder is the user's or one that this program made inside it.
class DirectoryLock {
 public:
  explicit DirectoryLock(const InnerPath& directory, const DirectoryLockOptions& options = {});
  ~DirectoryLock();
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  class Beating;
  Descriptor descriptor_;
  std::unique_ptr<Beating> beating_;
};

}  // namespace roformer
