// A lock that keeps two processes off one directory, on one machine and across machines. The kernel
// holds it (flock) and frees it when the process is killed; where a network file system does not
// carry that from one machine to another, the lock file says who holds it, and goes on saying so.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/host.h"
#include "base/inner_path.h"

namespace roformer {

struct DirectoryLockOptions {
  std::string host = host_name();
  std::chrono::milliseconds beat{2000};        // between two signs of life in the file
  std::chrono::milliseconds patience{10'000};  // without one the holder on another machine is gone
};

// Another process holds the directory.
class DirectoryInUse : public Error {
 public:
  using Error::Error;
};

// Holds DIRECTORY/.lock until destroyed: "PROCESS HOST NUMBER", the number grows. Throws
// DirectoryInUse naming process and machine when another one does. A file left by a process that
// was killed on another machine, or where the file system has no locks, is watched for as long as
// the patience says. The folder is the user's, or one of ours inside of it.
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
