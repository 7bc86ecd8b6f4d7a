#include "report/append_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace roformer {
namespace fs = std::filesystem;

AppendFile::AppendFile(InnerPath path, std::chrono::milliseconds flush_interval)
    : path_(std::move(path)),
      flush_interval_(flush_interval),
      last_flush_(std::chrono::steady_clock::now()) {
  descriptor_ = path_.open(O_WRONLY | O_CREAT | O_APPEND);
  if (!descriptor_) throw_failure(path_.string(), "cannot write: " + system_message(errno));
}

AppendFile::~AppendFile() {
  try {
    flush();
  } catch (const Error&) {
    // A destructor cannot report the failure. Callers that must know of it call flush() first.
  }
}

void AppendFile::append(std::string_view bytes) {
  buffer_ += bytes;
  if (std::chrono::steady_clock::now() - last_flush_ >= flush_interval_) flush();
}

void AppendFile::flush() {
  while (!buffer_.empty()) {
    const ssize_t written = ::write(descriptor_.number(), buffer_.data(), buffer_.size());
    if (written < 0 && errno != EINTR) {
      throw_failure(path_.string(), "cannot write: " + system_message(errno));
    }
    if (written > 0) buffer_.erase(0, static_cast<std::size_t>(written));
  }
  last_flush_ = std::chrono::steady_clock::now();
}

void AppendFile::sync() {
  flush();
  // A pipe or another descriptor without a disk has nothing to wait for.
  if (::fdatasync(descriptor_.number()) != 0 && errno != EINVAL && errno != EROFS) {
    throw_failure(path_.string(), "cannot write: " + system_message(errno));
  }
  if (!std::exchange(is_listed_, true)) sync_directory(fs::absolute(path_.path()).parent_path());
}

}  // namespace roformer
