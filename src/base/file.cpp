#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <limits>
#include <thread>
#include <utility>

#include "base/directory_lock.h"
#include "base/progress.h"

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

// The descriptor behind a name such as "/dev/stdout" or "/dev/fd/5"; -1 for other names. Opening
// such a name would overwrite the file from its beginning.
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

// The end of a chain of links, even if it does not exist.
fs::path target_of(fs::path path) {
  constexpr int kMostLinks = 40;  // the kernel's limit
  std::error_code error;
  for (int links = 0; fs::is_symlink(path, error); ++links) {
    if (links == kMostLinks) throw_failure(path.string(), "is part of a loop of symbolic links");
    path = path.parent_path() / fs::read_symlink(path, error);
    if (error) throw_failure(path.string(), "cannot read the link: " + error.message());
  }
  return path;
}

// Call after a system call that set errno.
[[noreturn]] void throw_unreadable(const fs::path& path) {
  if (errno != ENOENT && errno != ENOTDIR) throw ReadError(path, errno);
  throw_failure(path.string(), "cannot read: " + system_message(errno));
}

}  // namespace

ReadError::ReadError(const fs::path& path, int error_number)
    : Error(
          {.message = "cannot read: " + system_message(error_number), .location = path.string()}) {}

namespace {

// Reads the rest of an open file. The size of a pipe is unknown.
std::string read_whole(int descriptor, const fs::path& path, std::uint64_t largest) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw_unreadable(path);
  const auto refuse_size = [&] {
    throw_failure(path.string(), "is larger than " + format_bytes(largest) +
                                     ", the most that is read of such a file");
  };
  const auto size_now = static_cast<std::uint64_t>(status.st_size);
  if (size_now > largest) refuse_size();
  std::string contents(static_cast<std::size_t>(size_now) + 1, '\0');
  for (std::size_t size = 0;;) {
    const ssize_t more = ::read(descriptor, contents.data() + size, contents.size() - size);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) throw_unreadable(path);
    size += static_cast<std::size_t>(more);
    if (more == 0) {
      contents.resize(size);
      return contents;
    }
    if (size > largest) refuse_size();
    if (size == contents.size()) contents.resize(2 * size);  // for a pipe or a growing file
  }
}

void refuse_kind(const fs::path& path, mode_t mode) {
  if (S_ISDIR(mode)) throw_failure(path.string(), "is a directory, not a file");
  // Refused because a device may have no end.
  if (S_ISCHR(mode) || S_ISBLK(mode)) throw_failure(path.string(), "is a device, not a file");
}

// Does not wait for the writer of a pipe. Throws Error for anything but a regular file.
Descriptor open_regular(const fs::path& path) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file && errno == ENXIO) throw_failure(path.string(), "is a socket or device, not a file");
  if (!file) throw_unreadable(path);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw_unreadable(path);
  refuse_kind(path, status.st_mode);
  if (!S_ISREG(status.st_mode)) throw_failure(path.string(), "is a pipe, not a regular file");
  return file;
}

}  // namespace

std::string read_file(const fs::path& path, std::uint64_t largest) {
  // Only the user can name a pipe in this way (a shell's <(command)).
  if (path == "/dev/stdin" || open_descriptor(path) >= 0) return read_input(path);
  return read_whole(open_regular(path).number(), path, largest);
}

std::string read_plain_file(const InnerPath& path, std::uint64_t largest) {
  const Descriptor file = path.open(O_RDONLY);
  if (!file) throw_unreadable(path);
  return read_whole(file.number(), path, largest);
}

std::string read_input(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw_unreadable(path);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw_unreadable(path);
  refuse_kind(path, status.st_mode);
  return read_whole(file.number(), path, std::numeric_limits<std::int64_t>::max());
}

namespace {

// Creates or empties the file for this process alone. Waits for another process that is still
// writing it. On failure returns no descriptor and sets errno.
Descriptor open_alone(int folder, const fs::path& name, const fs::path& path) {
  using std::chrono::steady_clock;
  const auto end = steady_clock::now() + std::chrono::seconds(10);
  while (true) {
    Descriptor file(::openat(folder, name.c_str(),
                             O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
    if (!file) return file;
    const bool locked = try_lock(file.number(), path) != FileLock::of_another;
    struct stat own = {}, there = {};
    const bool ours = locked && ::fstat(file.number(), &own) == 0 &&
                      ::fstatat(folder, name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                      own.st_ino == there.st_ino && own.st_dev == there.st_dev;
    if (ours && !S_ISREG(own.st_mode)) throw_failure(path.string(), "is not a regular file");
    if (ours && own.st_nlink > 1) {  // the file must stay under its other names
      ::unlinkat(folder, name.c_str(), 0);
      continue;
    }
    if (ours) {
      if (::ftruncate(file.number(), 0) != 0) return Descriptor();
      return file;
    }
    if (steady_clock::now() > end) {
      errno = EBUSY;
      return Descriptor();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

bool is_present(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

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
  // Some file systems cannot sync directories.
  const bool failed = ::fsync(descriptor) != 0 && errno != EINVAL && errno != ENOTSUP;
  const int error_number = errno;
  ::close(descriptor);
  if (failed) throw_failure(path.string(), "cannot write: " + system_message(error_number));
}

AtomicFile::AtomicFile(InnerPath path) : path_(std::move(path)) {
  struct stat status {};
  if (path_.is_named()) {
    const bool there = ::stat(path_.path().c_str(), &status) == 0;
    const int open = open_descriptor(path_);
    if (open >= 0 || (there && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))) {
      descriptor_ =
          open >= 0 ? Descriptor(::fcntl(open, F_DUPFD_CLOEXEC, 0)) : path_.open(O_WRONLY);
      if (!descriptor_) throw_failure(path_.string(), "cannot open: " + system_message(errno));
      return;
    }
    path_ = target_of(path_);  // the last name is no longer a link
  }
  path_.require_plain();
  const fs::path name = path_.name();
  folder_ = path_.open_folder();
  if (!folder_) throw_failure(path_.string(), "cannot create: " + system_message(errno));
  if (::fstatat(folder_.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(status.st_mode)) throw_failure(path_.string(), "is a directory, not a file");
    mode_ = status.st_mode & 07777;
  }
  partial_ = name;
  partial_ += ".partial";
  const InnerPath beside = path_.path().parent_path() / partial_;
  beside.require_plain();
  descriptor_ = open_alone(folder_.number(), partial_, beside);
  if (!descriptor_) throw_failure(path_.string(), "cannot create: " + system_message(errno));
}

AtomicFile::~AtomicFile() {
  // While the lock is held: later another writer may use the name.
  if (descriptor_ && folder_) ::unlinkat(folder_.number(), partial_.c_str(), 0);
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  size_ += bytes;
  if (buffer_.size() + bytes > kBufferBytes) flush();
  if (bytes > kBufferBytes) {
    write_all(descriptor_.number(), static_cast<const char*>(data), bytes, path_);
  } else {
    buffer_.append(static_cast<const char*>(data), bytes);
  }
}

void AtomicFile::write_at(std::size_t offset, const void* data, std::size_t bytes) {
  ROFORMER_ASSERT(offset + bytes <= size_);
  flush();
  const auto* rest = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::pwrite(descriptor_.number(), rest, bytes, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_failure(path_.string(), "cannot write: " + system_message(errno));
    rest += written;
    offset += static_cast<std::size_t>(written);
    bytes -= static_cast<std::size_t>(written);
  }
}

void AtomicFile::flush() {
  write_all(descriptor_.number(), buffer_.data(), buffer_.size(), path_);
  buffer_.clear();
}

void AtomicFile::commit() {
  const auto fail = [&] {
    throw_failure(path_.string(), "cannot write: " + system_message(errno));
  };
  flush();
  if (!folder_) {
    if (::close(descriptor_.release()) != 0) fail();
    return;
  }
  if (mode_) ::fchmod(descriptor_.number(), *mode_);  // harmless if it fails on another user's file
  if (::fsync(descriptor_.number()) != 0) fail();
  // Runs before the file is closed, because another writer may take the partial file after that.
  const int folder = folder_.number();
  if (::renameat(folder, partial_.c_str(), folder, path_.name().c_str()) != 0) fail();
  if (::close(descriptor_.release()) != 0) fail();
  // Some file systems cannot sync directories.
  if (::fsync(folder) != 0 && errno != EINVAL && errno != ENOTSUP) fail();
}

void require_output(const fs::path& path, const std::vector<fs::path>& inputs) {
  for (const fs::path& input : inputs) {
    std::error_code error;
    if (fs::equivalent(input, path, error)) {
      throw_usage(path.string(), "is an input of this command, which would overwrite it",
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
  // Calls only functions that are safe in a handler: write and _exit.
  action.sa_handler = [](int signal) {
    constexpr char kLine[] =
        "error: a file was truncated while it was read, or its disk cannot be read\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine, sizeof kLine - 1);
    ::_exit(128 + signal);
  };
  ::sigaction(SIGBUS, &action, nullptr);
}

void write_file_atomically(const InnerPath& path, std::string_view contents) {
  AtomicFile file(path);
  file.write(contents);
  file.commit();
}

MappedFile::MappedFile(const fs::path& path) {
  const Descriptor file = open_regular(path);
  struct stat status {};
  if (::fstat(file.number(), &status) != 0) throw_unreadable(path);
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ == 0) return;
  void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.number(), 0);
  if (address == MAP_FAILED) throw ReadError(path, errno);
  data_ = static_cast<const std::byte*>(address);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::size_t begin, std::size_t end) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  begin = (begin + page - 1) / page * page;
  end = end / page * page;
  if (begin >= end) return;
  // Only advice: where the system does not take it, the pages stay.
  static_cast<void>(::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED));
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace roformer
