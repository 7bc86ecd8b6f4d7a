// Checksums (XXH3) that detect damage: of a JSON file's values, of a stored configuration's lines,
// and of the blocks of all files in a folder (manifest.json).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/inner_path.h"

namespace roformer {

// The text of an object with a field "checksum". The checksum covers only the values, so layout and
// the order of names are free. Repairs strings that are not UTF-8 rather than refusing them,
// because a path may hold any bytes.
std::string checksummed_text(const nlohmann::ordered_json& object);
void write_checksummed_json(const InnerPath& file, const nlohmann::ordered_json& object);

// The value without its "checksum", which older files lack. Throws Error (failure) if the checksum
// does not match, the file is not JSON, or an object has a name twice.
nlohmann::json read_checksummed_json(const std::filesystem::path& file);

// The lines, preceded by a comment line with their checksum.
std::string checksummed_lines(std::string_view lines);

// Whether a text begins with such a line.
bool begins_with_seal(std::string_view text);

// Throws Error (failure) if the file begins with a checksum that does not match the rest. Accepts a
// file without such a line, because users write such files.
void check_checksummed_lines(const std::filesystem::path& file);

// Damage to a file in a folder.
struct Damage {
  std::filesystem::path file;
  std::string message;      // "is not there", "bytes 0 to 4095 are not what was written"
  std::uint64_t begin = 0;  // the first bad block if the size is right
  std::uint64_t end = 0;
};

// manifest.json: the sizes of a folder's files and a checksum of every block. It detects one
// flipped bit of a weight, which leaves the file readable, and tells where it is.
class Manifest {
 public:
  // Returns nothing if the folder has no manifest. Throws Error (failure) for a damaged manifest.
  static std::optional<Manifest> read(const std::filesystem::path& folder);
  // The manifest of the files that are now in the folder and its subfolders ("source/vocab.txt").
  static Manifest of(const InnerPath& folder);

  void write() const;
  std::vector<std::string> names() const;
  // Whether the folder holds these files unchanged and nothing else but the manifest. False also
  // for a folder that cannot be read.
  bool describes_folder() const;
  // Reads the whole file; returns nothing if it is unchanged. Does not check files that the
  // manifest does not name.
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
