#include "base/scratch_folder.h"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "base/error.h"
#include "base/file.h"

namespace roformer {
namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const std::string& name) {
  std::string pattern = (fs::temp_directory_path() / ("roformer-" + name + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw_failure(pattern, "cannot make a folder: " + system_message(errno));
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace roformer
