#include "base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kBufferBytes = 1 << 18;

void write_all(int descriptor, const char* data, std::size_t bytes, const fs::path& path) {
  while (bytes > 0) {
    const ssize_t written = ::write(descriptor, data, bytes);
    if (written < 0) {
      if (errno == EINTR) continue;
      throw_failure(path.string(), "cannot write: " + system_message(errno));
    }
    data += written;
    bytes -= static_cast<std::size_t>(written);
  }
}

// Of a name of what this process has open ("/dev/stdout", "/dev/fd/5"): which; -1 for other names.
// Opened by its name a file would be written from its beginning.
int open_descriptor(const fs::path& path) {
  const std::string name = path.lexically_normal().string();
  if (name == "/dev/stdout") return STDOUT_FILENO;
  if (name == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!name.starts_with(folder)) continue;
    int number = -1;
    const char* const end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + folder.size(), end, number);
    return parsed.ptr == end ? number : -1;
  }
  return -1;
}

// What a chain of links ends at, there or not.
fs::path target_of(fs::path path) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error); ++links) {
    if (links == kMostLinks) throw_failure(path.string(), "is a link that leads in a circle");
    path = path.parent_path() / fs::read_symlink(path, error);
    if (error) throw_failure(path.string(), "cannot read the link: " + error.message());
  }
  return path;
}

// After a system call that set errno.
[[noreturn]] void throw_unreadable(const fs::path& path) {
  if (errno != ENOENT && errno != ENOTDIR) throw ReadError(path, errno);
  throw_failure(path.string(), "cannot read: " + system_message(errno));
}

}  // namespace

ReadError::ReadError(const fs::path& path, int error_number)
    : Error(
          {.message = "cannot read: " + system_message(error_number), .location = path.string()}) {}

std::string read_file(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw_unreadable(path);
  const struct Closed {
    int descriptor;
    ~Closed() { ::close(descriptor); }
  } closed{descriptor};
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw_unreadable(path);
  if (S_ISDIR(status.st_mode)) throw_failure(path.string(), "is a directory, not a file");
  // A device may have no end.
  if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) {
    throw_failure(path.string(), "is a device, not a file");
  }
  std::string contents(static_cast<std::size_t>(status.st_size) + 1, '\0');
  for (std::size_t size = 0;;) {
    const ssize_t more = ::read(descriptor, contents.data() + size, contents.size() - size);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) throw_unreadable(path);
    size += static_cast<std::size_t>(more);
    if (more == 0) {
      contents.resize(size);
      return contents;
    }
    if (size == contents.size()) contents.resize(2 * size);  // a pipe, or a file that grows
  }
}

namespace {

// Creates or empties the file for this process alone: what another one is still writing there is
// waited for, and is then a file of its own name. -1 with errno where that cannot be.
int open_alone(const fs::path& path) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + std::chrono::seconds(10);
  while (true) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (descriptor < 0) return -1;
    const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
    struct stat own = {}, named = {};
    const bool ours = locked && ::fstat(descriptor, &own) == 0 &&
                      ::stat(path.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
                      own.st_dev == named.st_dev;
    if (ours && (!S_ISREG(own.st_mode) || ::ftruncate(descriptor, 0) == 0)) return descriptor;
    const int error_number = ours ? errno : EBUSY;
    ::close(descriptor);
    if (ours || steady_clock::now() > end) {
      errno = error_number;
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

void make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw_failure(path.string(), "cannot make the directory: " + error.message());
}

std::string folder_name(const fs::path& folder) {
  return (fs::absolute(folder) / "").lexically_normal().parent_path().filename().string();
}

void sync_directory(const fs::path& path) {
  const int descriptor =
      ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw_failure(path.string(), "cannot open: " + system_message(errno));
  // Some file systems know no syncing of directories.
  const bool failed = ::fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP;
  const int error_number = errno;
  ::close(descriptor);
  if (failed) throw_failure(path.string(), "cannot write: " + system_message(error_number));
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  struct stat status {};
  const bool there = ::stat(path_.c_str(), &status) == 0;
  if (there && S_ISDIR(status.st_mode)) throw_failure(path_.string(), "is a directory, not a file");
  const int open = open_descriptor(path_);
  if ((there && !S_ISREG(status.st_mode)) || open >= 0) {
    descriptor_ =
        open >= 0 ? ::fcntl(open, F_DUPFD_CLOEXEC, 0) : ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) throw_failure(path_.string(), "cannot open: " + system_message(errno));
    return;
  }
  path_ = target_of(path_);
  if (there) mode_ = status.st_mode & 07777;
  partial_ = path_;
  partial_ += ".partial";
  descriptor_ = open_alone(partial_);
  if (descriptor_ < 0) throw_failure(path_.string(), "cannot create: " + system_message(errno));
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  // As long as the lock is held: afterwards the name may be another writer's.
  if (!partial_.empty()) ::unlink(partial_.c_str());
  ::close(descriptor_);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  size_ += bytes;
  if (buffer_.size() + bytes > kBufferBytes) flush();
  if (bytes > kBufferBytes) {
    write_all(descriptor_, static_cast<const char*>(data), bytes, path_);
  } else {
    buffer_.append(static_cast<const char*>(data), bytes);
  }
}

void AtomicFile::write_at(std::size_t offset, const void* data, std::size_t bytes) {
  ROFORMER_ASSERT(offset + bytes <= size_);
  flush();
  const auto* rest = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(descriptor_, rest, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_failure(path_.string(), "cannot write: " + system_message(errno));
    rest += written;
    offset += static_cast<std::size_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::flush() {
  write_all(descriptor_, buffer_.data(), buffer_.size(), path_);
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (partial_.empty()) {
    if (::close(std::exchange(descriptor_, -1)) == 0) return;
    throw_failure(path_.string(), "cannot write: " + system_message(errno));
  }
  if (mode_) ::fchmod(descriptor_, *mode_);  // another's file keeps ours
  if (::fsync(descriptor_) != 0) {
    throw_failure(path_.string(), "cannot write: " + system_message(errno));
  }
  // Before it is closed, with which another writer may take the partial file.
  if (::rename(partial_.c_str(), path_.c_str()) != 0) {
    throw_failure(path_.string(), "cannot write: " + system_message(errno));
  }
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    throw_failure(path_.string(), "cannot write: " + system_message(errno));
  }
  sync_directory(path_.parent_path());
}

void require_output(const fs::path& path, const std::vector<fs::path>& inputs) {
  for (const fs::path& input : inputs) {
    std::error_code error;
    if (fs::equivalent(input, path, error)) {
      throw_usage(path.string(), "is read by this command, which would write over it",
                  "name another file");
    }
  }
  struct stat status {};
  const bool there = ::stat(path.c_str(), &status) == 0;
  if (!path.has_filename() || (there && S_ISDIR(status.st_mode))) {
    throw_failure(path.string(), "is a directory, not a file");
  }
  if ((there && !S_ISREG(status.st_mode)) || open_descriptor(path) >= 0) return;
  const fs::path parent = target_of(path).parent_path();
  const fs::path folder = parent.empty() ? fs::path(".") : parent;
  make_directories(folder);
  if (::access(folder.c_str(), W_OK) == 0) return;
  throw_failure(path.string(), "cannot create: " + system_message(errno));
}

void explain_bus_errors() {
  struct sigaction action {};
  // Only what is safe in a handler: write and _exit.
  action.sa_handler = [](int signal) {
    constexpr char kLine[] =
        "error: a file that is being read was cut short, or its disk cannot be read\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine, sizeof kLine - 1);
    ::_exit(128 + signal);
  };
  ::sigaction(SIGBUS, &action, nullptr);
}

void write_file_atomically(const fs::path& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

MappedFile::MappedFile(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw_unreadable(path);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw_failure(path.string(), "is not a regular file");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > 0) {
    void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, descriptor, 0);
    const int error_number = errno;
    ::close(descriptor);
    if (address == MAP_FAILED) throw ReadError(path, error_number);
    data_ = static_cast<const std::byte*>(address);
  } else {
    ::close(descriptor);
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace roformer
