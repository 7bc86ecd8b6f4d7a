#include "interop/new_folder.h"

#include "base/error.h"

namespace roformer {

void require_new_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return;
  if (!std::filesystem::is_directory(folder, error)) {
    throw_usage(folder.string(), "is a file, not a folder", "name a new folder for the export");
  }
  if (std::filesystem::is_empty(folder, error)) return;
  throw_usage(folder.string(), "is not empty", "name a new folder for the export");
}

}  // namespace roformer
