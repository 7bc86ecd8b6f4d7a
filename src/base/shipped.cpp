#include "base/shipped.h"

#include <fmt/format.h>

#include <mutex>
#include <set>

#include "base/file.h"
#include "base/log.h"
#include "base/process.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

fs::path find_shipped_folder() {
  const fs::path folder = program_path().parent_path();
  // An installed `roformer`, an installed `roformer-torch`, and both in their build folder.
  for (const char* const share : {ROFORMER_SHARE_OF_BIN, ROFORMER_SHARE_OF_LIBEXEC, ".."}) {
    fs::path shipped = (folder / share).lexically_normal();
    if (!shipped.has_filename()) shipped = shipped.parent_path();  // "/a/b/.." is normally "/a/"
    if (is_present(shipped / "configs" / "quickstart.yaml")) return shipped;
  }
  return {};
}

}  // namespace

const fs::path& shipped_folder() {
  static const fs::path folder = find_shipped_folder();
  return folder;
}

fs::path located_in(const fs::path& shipped, const fs::path& given) {
  if (shipped.empty() || given.empty() || given.is_absolute() || is_present(given)) return given;
  const fs::path plain = given.lexically_normal();
  if (*plain.begin() == "..") return given;
  const fs::path found = shipped / plain;
  return is_present(found) ? found : given;
}

fs::path located(const fs::path& given) {
  const fs::path found = located_in(shipped_folder(), given);
  if (found != given) {
    static std::mutex mutex;
    static std::set<fs::path> said;
    const std::lock_guard lock(mutex);
    if (said.insert(found).second)
      log::info("{}: the one that comes with roformer, {}", given.string(), found.string());
  }
  return found;
}

std::string searched_folders(const fs::path& given) {
  if (given.is_absolute() || shipped_folder().empty()) return "";
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (here == shipped_folder()) return "";
  return fmt::format("looked for in {} and in {}", here.string(), shipped_folder().string());
}

}  // namespace roformer
