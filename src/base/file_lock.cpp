#include "base/file_lock.h"

#include <sys/file.h>

#include <atomic>
#include <cerrno>

#include "base/error.h"
#include "base/log.h"

namespace roformer {
namespace {

void warn_once(const std::filesystem::path& path, int error_number) {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  log::warn(
      "{}: this file system has no locks ({}): make sure that no other process writes there at "
      "the same time",
      path.string(), system_message(error_number));
}

}  // namespace

FileLock try_lock(int descriptor, const std::filesystem::path& path) {
  int result = 0;
  do {
    result = ::flock(descriptor, LOCK_EX | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return FileLock::ours;
  const int error_number = errno;
  if (error_number == EWOULDBLOCK) return FileLock::of_another;
  if (error_number == ENOSYS || error_number == ENOLCK || error_number == ENOTSUP ||
      error_number == EOPNOTSUPP) {
    warn_once(path, error_number);
    return FileLock::none_here;
  }
  throw_failure(path.string(), "cannot lock: " + system_message(error_number));
}

}  // namespace roformer
