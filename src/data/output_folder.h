// A folder that is written beside its place and appears there only when it is complete, as
// AtomicFile does for one file.
#pragma once

#include <filesystem>
#include <optional>

#include "base/file.h"

namespace roformer {

class OutputFolder {
 public:
  // Makes OUTPUT.partial, emptied of what an interrupted run left there. Throws Error when OUTPUT
  // exists and `overwrite` is false, when it is no data set (which is never replaced), or when
  // another process is writing it.
  OutputFolder(const std::filesystem::path& output, bool overwrite);
  // Without commit() nothing is left.
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // Where to write.
  const std::filesystem::path& path() const { return partial_; }
  void commit();

 private:
  std::filesystem::path output_;
  std::filesystem::path partial_;
  std::optional<DirectoryLock> lock_;
};

}  // namespace roformer
