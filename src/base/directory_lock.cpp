#include "base/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <sstream>
#include <stop_token>
#include <thread>

#include "base/log.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// Opened anew each time: a network file system then asks its server.
std::string read_lock(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  char text[512] = {};
  const ssize_t length = ::pread(descriptor, text, sizeof text - 1, 0);
  ::close(descriptor);
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

}  // namespace

// Writes the signs of life.
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
  std::jthread thread_;  // the last: it uses the others

  // Never shorter than before, so that nothing has to be cut off.
  void write() {
    const std::string text =
        std::to_string(::getpid()) + " " + options_.host + " " + std::to_string(++number_) + "\n";
    [[maybe_unused]] const ssize_t written = ::pwrite(descriptor_, text.data(), text.size(), 0);
  }
};

DirectoryLock::DirectoryLock(const fs::path& directory, const DirectoryLockOptions& options) {
  const fs::path path = directory / ".lock";
  descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) {
    throw_failure(directory.string(), "cannot write there: " + system_message(errno));
  }
  const auto give_up = [&](const Holder& holder) {
    ::close(descriptor_);
    refuse(directory, holder);
  };
  const std::string before = read_lock(path);
  const Holder holder(before);
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) give_up(holder);
  if (!holder.host.empty() && holder.host != options.host) {
    log::info("{}: process {} on {} held it last; seeing whether it still lives",
              directory.string(), holder.process, holder.host);
    const auto end = std::chrono::steady_clock::now() + options.patience;
    while (std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(options.beat / 4);
      const std::string now = read_lock(path);
      if (now.empty()) break;  // it has ended meanwhile
      if (now != before) give_up(Holder(now));
    }
  }
  [[maybe_unused]] const int cut = ::ftruncate(descriptor_, 0);
  try {
    beating_ = std::make_unique<Beating>(descriptor_, options);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

DirectoryLock::~DirectoryLock() {
  beating_.reset();
  // An empty file: nobody needs to wait for a sign of life.
  [[maybe_unused]] const int cut = ::ftruncate(descriptor_, 0);
  ::close(descriptor_);
}

}  // namespace roformer
