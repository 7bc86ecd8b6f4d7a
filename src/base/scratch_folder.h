// A folder of its own among the system's temporary files, removed with all that is in it.
#pragma once

#include <filesystem>
#include <string>

namespace roformer {

class ScratchFolder {
 public:
  // `name` is a part of the folder's. Throws Error (failure) where none can be made.
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace roformer
