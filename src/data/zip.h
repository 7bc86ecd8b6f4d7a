// Writes a zip archive, for files that another service requires in one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace roformer {

struct ZipMember {
  std::string name;
  std::string contents;
};

// Writes the archive completely or not at all (AtomicFile). Members have no time, so that equal
// contents give equal files. Throws Error (failure).
void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members);

}  // namespace roformer
