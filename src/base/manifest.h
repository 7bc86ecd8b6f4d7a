// manifest.json tells what the files of a folder were when they were written: their sizes, and a
// checksum (XXH3) of every block. One flipped bit of a weight makes no file unreadable; this finds
// it, and says where.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/inner_path.h"

namespace roformer {

// What is wrong with a file of the folder.
struct Damage {
  std::filesystem::path file;
  std::string message;      // "is not there", "bytes 0 to 4095 are not what was written"
  std::uint64_t begin = 0;  // the first bad block, where the file has the right size
  std::uint64_t end = 0;
};

class Manifest {
 public:
  // Nothing where the folder has none. Throws Error (failure) where it is damaged itself.
  static std::optional<Manifest> read(const std::filesystem::path& folder);
  // Of the files that are in the folder now, and in folders in it ("source/vocab.txt").
  static Manifest of(const InnerPath& folder);

  void write() const;
  std::vector<std::string> names() const;
  // Reads the file whole; nothing where it is what was written. One that the manifest does not
  // name is not checked.
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
