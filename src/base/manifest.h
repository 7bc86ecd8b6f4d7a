// manifest.json records the files of a folder as they were written: their sizes and a checksum
// (XXH3) of every block. It finds one flipped bit of a weight, which leaves the file readable, and
// tells where it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/inner_path.h"

namespace roformer {

// Damage of a file in the folder.
struct Damage {
  std::filesystem::path file;
  std::string message;      // "is not there", "bytes 0 to 4095 are not what was written"
  std::uint64_t begin = 0;  // the first bad block, where the file has the right size
  std::uint64_t end = 0;
};

class Manifest {
 public:
  // Nothing where the folder has no manifest. Throws Error (failure) for a damaged manifest.
  static std::optional<Manifest> read(const std::filesystem::path& folder);
  // The manifest of the files that are in the folder and its subfolders now ("source/vocab.txt").
  static Manifest of(const InnerPath& folder);

  void write() const;
  std::vector<std::string> names() const;
  // Reads the whole file; nothing where it is as it was written. Files that the manifest does not
  // name are not checked.
  std::optional<Damage> check(const std::string& name) const;

 private:
  struct File {
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> blocks;  // checksums
  };
  InnerPath folder_;
  std::map<std::string, File> files_;

  static File measure(const std::filesystem::path& path);
};

}  // namespace roformer
