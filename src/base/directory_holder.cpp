#include "base/directory_holder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <sstream>

#include "base/error.h"
#include "base/inner_path.h"
#include "base/printable.h"
#include "base/process.h"

namespace roformer {
namespace {

constexpr std::time_t kPatience = 30;  // seconds; a holder writes every two

bool wrote_lately(int file) {
  struct stat status {};
  return ::fstat(file, &status) == 0 && std::time(nullptr) - status.st_mtime < kPatience;
}

}  // namespace

std::string directory_holder(const std::filesystem::path& directory) try {
  const Descriptor file = (InnerPath::named(directory) / ".lock").open(O_RDONLY);
  if (!file) return "";
  char text[512] = {};
  if (::pread(file.number(), text, sizeof text - 1, 0) <= 0) return "";
  std::string process, host;
  std::istringstream(text) >> process >> host;
  if (process.empty()) return "";
  // A shared lock does not keep other readers out, and only a killed holder leaves a text that
  // nobody holds.
  if (::flock(file.number(), LOCK_SH | LOCK_NB) == 0) {
    if (host == host_name() || !wrote_lately(file.number())) return "";
  } else if (errno != EWOULDBLOCK && !wrote_lately(file.number())) {
    return "";
  }
  return "process " + clean_line(process) + (host.empty() ? "" : " on " + clean_line(host));
} catch (const Error&) {  // a link or a pipe, which no run of this program has
  return "";
}

}  // namespace roformer
