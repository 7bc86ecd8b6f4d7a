#include "base/inner_path.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/printable.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

std::string target_of_link(int folder, const fs::path& name) {
  char target[4096];
  const ssize_t length = ::readlinkat(folder, name.c_str(), target, sizeof target);
  return {target, length > 0 ? static_cast<std::size_t>(length) : 0};
}

const char* kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

// Returns false if nothing has this name. Throws Error if the name in the folder is neither a file
// nor a folder; `path` is for the message.
bool require_plain_entry(int folder, const fs::path& name, const fs::path& path) {
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return true;
  if (S_ISLNK(status.st_mode)) {
    throw_failure(path.string(),
                  "is a link to " + printable(target_of_link(folder, name)) +
                      ", and nothing is written through links inside a run, a study or an output",
                  "remove the link; the run's or the study's own folder may be one");
  }
  throw_failure(path.string(), std::string("is ") + kind_of(status.st_mode) + ", not a file",
                "remove it");
}

std::error_code last_error() {
  return {errno, std::generic_category()};
}

// The folder's entries without "." and "..". Leaves the descriptor unchanged.
std::vector<fs::path> names_in(int folder) {
  std::vector<fs::path> names;
  const int copy = ::openat(folder, ".", kFolder);
  DIR* const entries = copy < 0 ? nullptr : ::fdopendir(copy);
  if (entries == nullptr) {
    if (copy >= 0) ::close(copy);
    return names;
  }
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(entries);
  return names;
}

std::error_code remove_entry(int folder, const fs::path& name) {
  struct stat status {};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? std::error_code() : last_error();
  }
  if (S_ISDIR(status.st_mode)) {
    const Descriptor inside(::openat(folder, name.c_str(), kFolder | O_NOFOLLOW));
    if (!inside) return last_error();
    for (const fs::path& inner : names_in(inside.number())) {
      if (const std::error_code error = remove_entry(inside.number(), inner)) return error;
    }
  }
  const int flags = S_ISDIR(status.st_mode) ? AT_REMOVEDIR : 0;
  if (::unlinkat(folder, name.c_str(), flags) == 0 || errno == ENOENT) return {};
  return last_error();
}

void require_plain_below(int folder, const fs::path& path) {
  for (const fs::path& name : names_in(folder)) {
    require_plain_entry(folder, name, path / name);
    const Descriptor inside(::openat(folder, name.c_str(), kFolder | O_NOFOLLOW | O_NONBLOCK));
    if (inside) require_plain_below(inside.number(), path / name);
  }
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

InnerPath::InnerPath(fs::path named, fs::path inner)
    : named_(std::move(named)), inner_(std::move(inner)) {
  path_ = inner_.empty() ? named_ : named_.empty() ? inner_ : named_ / inner_;
}

InnerPath InnerPath::named(fs::path path) {
  return {std::move(path), {}};
}

InnerPath InnerPath::split(const fs::path& path) {
  const fs::path whole = path.has_filename() ? path : path.parent_path();  // "a/" is a
  const fs::path last = whole.filename();
  if (last.empty() || last == "." || last == "..") return named(path);
  return {whole.parent_path(), last};
}

InnerPath InnerPath::operator/(const fs::path& inner) const {
  for (const fs::path& name : inner) ROFORMER_ASSERT(name != ".." && !inner.is_absolute());
  return {named_, inner_.empty() ? inner : inner_ / inner};
}

// Opens the folder of the last name.
Descriptor InnerPath::open_folders(bool make) const {
  const fs::path& begin = is_named() ? named_.parent_path() : named_;
  Descriptor folder(::open(begin.empty() ? "." : begin.c_str(), kFolder));
  fs::path path = begin;
  for (const fs::path& name : inner_.parent_path()) {
    if (!folder) break;
    path = path.empty() ? name : path / name;
    if (make && ::mkdirat(folder.number(), name.c_str(), 0777) != 0 && errno != EEXIST) {
      throw_failure(path.string(), "cannot make the directory: " + system_message(errno));
    }
    Descriptor next(::openat(folder.number(), name.c_str(), kFolder | O_NOFOLLOW));
    if (!next) {
      const int error_number = errno;
      require_plain_entry(folder.number(), name, path);
      errno = error_number;
    }
    folder = std::move(next);
  }
  return folder;
}

Descriptor InnerPath::open_folder() const {
  return open_folders(/*make=*/false);
}

Descriptor InnerPath::open(int flags, unsigned mode) const {
  if (is_named()) return Descriptor(::open(path_.c_str(), flags | O_CLOEXEC, mode));
  const Descriptor folder = open_folder();
  if (!folder) return Descriptor();
  require_plain_entry(folder.number(), name(), path_);
  // The name may have become a link or a pipe since the check. This neither follows a link nor
  // waits for a pipe.
  Descriptor file(
      ::openat(folder.number(), name().c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, mode));
  struct stat status {};
  if (!file || ::fstat(file.number(), &status) != 0) return Descriptor();
  if (!S_ISREG(status.st_mode)) throw_failure(path_.string(), "is not a regular file");
  // Writing in place would also change the file under its other names: in a copy that `cp -al`
  // made, or where somebody linked it.
  if ((flags & O_ACCMODE) != O_RDONLY && status.st_nlink > 1) {
    throw_failure(path_.string(),
                  "is a hard link: writing to it would also change the file under its other names",
                  "make it a file for itself: cp FILE COPY && mv COPY FILE");
  }
  return file;
}

void InnerPath::require_plain() const {
  if (is_named()) return;
  const Descriptor folder = open_folder();
  if (folder) require_plain_entry(folder.number(), name(), path_);
}

void InnerPath::require_plain_tree() const {
  require_plain();
  const Descriptor folder(::open(path_.c_str(), kFolder));
  if (folder) require_plain_below(folder.number(), path_);
}

void InnerPath::make_folder() const {
  const auto fail = [&] {
    throw_failure(path_.string(), "cannot make the directory: " + system_message(errno));
  };
  if (!named_.empty()) {
    std::error_code error;
    fs::create_directories(named_, error);
    if (error) throw_failure(named_.string(), "cannot make the directory: " + error.message());
  }
  if (is_named()) return;
  const Descriptor folder = open_folders(/*make=*/true);
  if (!folder) fail();
  require_plain_entry(folder.number(), name(), path_);
  if (::mkdirat(folder.number(), name().c_str(), 0777) == 0) return;
  if (errno != EEXIST) fail();
  if (!Descriptor(::openat(folder.number(), name().c_str(), kFolder | O_NOFOLLOW))) fail();
}

std::error_code InnerPath::rename_to(const InnerPath& other) const {
  const Descriptor from = open_folder();
  if (!from) return last_error();
  require_plain_entry(from.number(), name(), path_);
  const Descriptor to = other.open_folder();
  if (!to) return last_error();
  if (::renameat(from.number(), name().c_str(), to.number(), other.name().c_str()) == 0) return {};
  return last_error();
}

void InnerPath::move_to(const InnerPath& other) const {
  const std::error_code error = rename_to(other);
  if (error) throw_failure(string(), "cannot rename: " + error.message());
}

std::error_code InnerPath::remove_all() const {
  const Descriptor folder = open_folder();
  if (!folder) return errno == ENOENT ? std::error_code() : last_error();
  return remove_entry(folder.number(), name());
}

}  // namespace roformer
