// Writes a zip archive, for files that someone else's server wants in one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace roformer {

struct ZipMember {
  std::string name;
  std::string contents;
};

// Whole or not at all (AtomicFile). Members carry no time, so that equal contents give equal files.
// Throws Error (failure).
void write_zip(const std::filesystem::path& path, const std::vector<ZipMember>& members);

}  // namespace roformer
