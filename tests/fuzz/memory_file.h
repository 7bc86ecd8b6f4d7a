// Where readers take a path: inputs as files that live in memory, and a folder for those whose name
// matters.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace roformer::fuzz {

// A file of these bytes that lives in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(::memfd_create("input", 0)) {
    ROFORMER_ASSERT(::write(descriptor_, bytes.data(), bytes.size()) ==
                    static_cast<ssize_t>(bytes.size()));
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::filesystem::path path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// A folder of this process, removed at its end.
class InputFolder {
 public:
  InputFolder() { std::filesystem::create_directories(path_); }
  ~InputFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  InputFolder(const InputFolder&) = delete;
  InputFolder& operator=(const InputFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("roformer-fuzz-" + std::to_string(::getpid()));
};

}  // namespace roformer::fuzz
