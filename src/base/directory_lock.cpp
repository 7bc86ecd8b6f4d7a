#include "base/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <sstream>
#include <stop_token>
#include <thread>

#include "base/log.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// Opens the file each time, so that a network file system asks its server.
std::string read_lock(const InnerPath& path) {
  const Descriptor file = path.open(O_RDONLY);
  if (!file) return "";
  char text[512] = {};
  const ssize_t length = ::pread(file.number(), text, sizeof text - 1, 0);
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : "";
}

struct Holder {
  std::string process, host;

  explicit Holder(const std::string& text) { std::istringstream(text) >> process >> host; }
  std::string words() const {
    if (process.empty()) return "";
    return " (process " + process + (host.empty() ? "" : " on " + host) + ")";
  }
};

[[noreturn]] void refuse(const fs::path& directory, const Holder& holder) {
  throw DirectoryInUse({.message = "is in use by another process" + holder.words(),
                        .location = directory.string(),
                        .hint = "wait for it to end, or choose another name"});
}

void warn_once(const std::filesystem::path& path, int error_number) {
  static std::atomic<bool> warned{false};
  if (warned.exchange(true)) return;
  log::warn(
      "{}: this file system has no locks ({}): make sure that no other process writes there at "
      "the same time",
      path.string(), system_message(error_number));
}

}  // namespace

// Writes signs of life into the lock file.
class DirectoryLock::Beating {
 public:
  Beating(int descriptor, const DirectoryLockOptions& options)
      : descriptor_(descriptor), options_(options) {
    write();
    thread_ = std::jthread([this](const std::stop_token& token) {
      std::unique_lock lock(mutex_);
      while (!wake_.wait_for(lock, token, options_.beat, [&] { return token.stop_requested(); })) {
        write();
      }
    });
  }

 private:
  int descriptor_;
  DirectoryLockOptions options_;
  std::int64_t number_ = 0;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last, because it uses the others

  // The text never becomes shorter, so nothing has to be cut off.
  void write() {
    const std::string text =
        std::to_string(::getpid()) + " " + options_.host + " " + std::to_string(++number_) + "\n";
    [[maybe_unused]] const ssize_t written = ::pwrite(descriptor_, text.data(), text.size(), 0);
  }
};

DirectoryLock::DirectoryLock(const InnerPath& directory, const DirectoryLockOptions& options) {
  const InnerPath path = directory / ".lock";
  descriptor_ = path.open(O_RDWR | O_CREAT);
  if (!descriptor_) {
    throw_failure(directory.string(), "cannot write there: " + system_message(errno));
  }
  const std::string before = read_lock(path);
  const Holder holder(before);
  const FileLock lock = try_lock(descriptor_.number(), path);
  if (lock == FileLock::of_another) refuse(directory, holder);
  // Where the kernel cannot tell whether the holder lives, its signs of life do.
  if (!holder.host.empty() && (holder.host != options.host || lock == FileLock::none_here)) {
    log::info("{}: last locked by process {} on {}; checking whether it is still alive",
              directory.string(), holder.process, holder.host);
    const auto end = std::chrono::steady_clock::now() + options.patience;
    while (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(options.beat / 4);
      const std::string now = read_lock(path);
      if (now.empty()) break;  // the holder has ended meanwhile
      if (now != before) refuse(directory, Holder(now));
    }
  }
  [[maybe_unused]] const int cut = ::ftruncate(descriptor_.number(), 0);
  beating_ = std::make_unique<Beating>(descriptor_.number(), options);
}

DirectoryLock::~DirectoryLock() {
  beating_.reset();
  // Nobody waits for signs of life in an empty file.
  [[maybe_unused]] const int cut = ::ftruncate(descriptor_.number(), 0);
}

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
