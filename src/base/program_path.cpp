#include "base/program_path.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <system_error>

#include "base/error.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// As it was started, which may be seen from a working directory that has changed since.
const fs::path& started_as() {
  static const fs::path path = [] {
    const auto* const name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    std::error_code error;
    return name == nullptr ? fs::path() : fs::canonical(name, error);
  }();
  return path;
}

[[maybe_unused]] const fs::path& at_the_beginning = started_as();

}  // namespace

fs::path program_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (!error) return path;
  if (started_as().empty()) throw_failure("this program", "does not know where its file is");
  return started_as();
}

std::string startable_program() {
  // Not /proc/self, which is another program's in a shell.
  const std::string name = "/proc/" + std::to_string(::getpid()) + "/exe";
  return ::access(name.c_str(), X_OK) == 0 ? name : program_path().string();
}

}  // namespace roformer
