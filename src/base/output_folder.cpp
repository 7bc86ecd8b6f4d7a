#include "base/output_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "base/directory_lock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/inner_path.h"
#include "base/log.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kClaimed = "roformer process ";

// Returns the folder itself if the path is a link to it or ends in a slash or a dot.
fs::path resolved(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  std::error_code error;
  const bool named = normal.has_filename() && normal.filename() != "." && normal.filename() != "..";
  if (named && !fs::is_symlink(normal, error)) return normal;
  if (!normal.has_filename() && normal.has_relative_path()) return resolved(normal.parent_path());
  const fs::path real = fs::canonical(path, error);
  return error ? normal : real;
}

fs::path beside(const fs::path& path, const char* suffix) {
  fs::path other = path;
  other += suffix;
  return other;
}

fs::path parent_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

bool is_empty_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::is_empty(path, error);
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw_failure(to.string(), "cannot put it in place: " + system_message(errno));
  }
}

void remove_or_throw(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (error) throw_failure(path.string(), "cannot remove: " + error.message());
}

}  // namespace

OutputFolder::Claim::Claim(fs::path path, const std::string& hint) : path_(std::move(path)) {
  for (;;) {
    Descriptor file = InnerPath(path_).open(O_RDWR | O_CREAT);
    if (!file) throw_failure(path_.string(), "cannot write there: " + system_message(errno));
    char text[64] = {};
    const bool taken = try_lock(file.number(), path_) == FileLock::of_another;
    const ssize_t length = ::pread(file.number(), text, sizeof text - 1, 0);
    const std::string holder(text, length > 0 ? static_cast<std::size_t>(length) : 0);
    if (taken) {
      fs::path output = path_;
      const std::string number =
          holder.starts_with(kClaimed) ? holder.substr(kClaimed.size()) : std::string("another");
      throw_failure(output.replace_extension().string(),
                    "is being written by another process (process " +
                        number.substr(0, number.find('\n')) + ")",
                    "wait for it to end, or " + hint);
    }
    // The previous holder may have removed the file after this process opened it and before it
    // locked it.
    struct stat held {};
    struct stat named {};
    if (::fstat(file.number(), &held) == 0 && ::lstat(path_.c_str(), &named) == 0 &&
        held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
      was_taken_ = holder.starts_with(kClaimed);
      // A process that was killed while it wrote its claim left the beginning of one, or nothing.
      if (!was_taken_ && !kClaimed.starts_with(holder)) {
        throw_failure(path_.string(), "is needed for writing, but holds something else",
                      "move it away, or " + hint);
      }
      descriptor_ = file.release();
      return;
    }
  }
}

OutputFolder::Claim::~Claim() {
  if (descriptor_ < 0) return;
  ::unlink(path_.c_str());
  ::close(descriptor_);
}

void OutputFolder::Claim::take() {
  const std::string text = std::string(kClaimed) + std::to_string(::getpid()) + "\n";
  const auto fail = [&] {
    throw_failure(path_.string(), "cannot write: " + system_message(errno));
  };
  for (std::size_t size = 0; size < text.size();) {
    const ssize_t more =
        ::pwrite(descriptor_, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (more < 0 && errno != EINTR) fail();
    size += more > 0 ? static_cast<std::size_t>(more) : 0;
  }
  if (::ftruncate(descriptor_, static_cast<off_t>(text.size())) != 0) fail();
  if (::fsync(descriptor_) != 0) fail();
  sync_directory(parent_of(path_));
}

void OutputFolder::Claim::abandon() {
  ::close(std::exchange(descriptor_, -1));
}

OutputFolder::MadeParents::MadeParents(const fs::path& parent) {
  std::error_code error;
  for (fs::path path = parent; !path.empty() && !fs::exists(path, error);
       path = path.parent_path()) {
    made.push_back(path);
  }
  make_directories(parent);
}

OutputFolder::MadeParents::~MadeParents() {
  std::error_code error;
  for (const fs::path& path : made) {
    if (!keep) fs::remove(path, error);  // removes only empty folders
  }
}

OutputFolder::OutputFolder(Options options)
    : options_(std::move(options)),
      output_(resolved(options_.output)),
      partial_(beside(output_, ".partial")),
      previous_(beside(output_, ".previous")),
      parents_(parent_of(output_)) {
  if (output_.empty()) throw_usage(options_.flag, "is empty, wanted the name of a folder");
  claim_.emplace(beside(output_, ".lock"), hint(options_));
  try {
    recover();
    check_output(options_, output_);
    claim_->take();
    InnerPath(partial_).make_folder();
  } catch (const Error&) {
    // The claim tells whether this program made these files.
    if (claim_->was_taken() && (is_there(partial_) || is_there(previous_))) claim_->abandon();
    throw;
  }
}

bool OutputFolder::holds(const fs::path& given, const fs::path& file) {
  const fs::path output = resolved(given), place = fs::weakly_canonical(file);
  if (place == fs::weakly_canonical(beside(output, ".lock"))) return true;
  for (const char* const suffix : {"", ".partial", ".previous"}) {
    const fs::path folder = fs::weakly_canonical(beside(output, suffix));
    if (std::ranges::mismatch(folder, place).in1 == folder.end()) return true;
  }
  return false;
}

OutputFolder::~OutputFolder() {
  if (!claim_) return;
  std::error_code error;
  fs::remove_all(partial_, error);
  if (error) claim_->abandon();
}

void OutputFolder::leave() {
  claim_->abandon();
  claim_.reset();
  parents_.keep = true;
}

bool OutputFolder::is_begun() const {
  return !options_.journal.empty() && is_there(partial_ / options_.journal);
}

// Called when the folder is already in its place.
void OutputFolder::remove_journal() {
  if (options_.journal.empty() || !is_there(output_ / options_.journal)) return;
  if (!options_.is_replaceable || !options_.is_replaceable(output_)) return;
  remove_or_throw(output_ / options_.journal);
  sync_directory(output_);
}

std::string OutputFolder::hint(const Options& options) {
  return options.flag.empty() ? "name another folder" : "choose another " + options.flag;
}

// Files beside the output belong to this program only if a claim says so.
void OutputFolder::recover() {
  if (claim_->was_taken()) {
    if (!is_there(output_) && is_there(previous_)) rename_or_throw(previous_, output_);
    remove_or_throw(previous_);
    InnerPath(partial_).require_plain();
    if (is_begun()) {
      InnerPath(partial_).require_plain_tree();  // this process continues the partial folder
    } else {
      remove_or_throw(partial_);
    }
    remove_journal();
    return;
  }
  for (const fs::path& path : {partial_, previous_}) {
    if (!is_there(path) || is_empty_folder(path)) continue;
    throw_failure(path.string(), "is needed for writing, but holds something else",
                  "move it away, or " + hint(options_));
  }
}

void OutputFolder::check_output(const Options& options, const fs::path& output) {
  if (!is_there(output) || is_empty_folder(output)) return;
  std::error_code error;
  if (!fs::is_directory(output, error) || !options.is_replaceable ||
      !options.is_replaceable(output)) {
    throw_failure(options.output.string(), "exists and is not " + options.contents, hint(options));
  }
  if (!options.overwrite) {
    throw_usage(options.output.string(), "exists already",
                "replace it with --overwrite, or " + hint(options));
  }
}

void OutputFolder::require_free(const Options& options) {
  check_output(options, resolved(options.output));
}

void OutputFolder::commit() {
  sync_directory(partial_);
  put_in_place();
  parents_.keep = true;
  remove_journal();
  std::error_code error;
  fs::remove_all(partial_, error);  // the old folder, if the two were exchanged
  if (!error) fs::remove_all(previous_, error);
  if (error) {
    log::warn("{} was written, but its previous contents cannot be removed: {}",
              options_.output.string(), error.message());
    claim_->abandon();
  }
  claim_.reset();
}

void OutputFolder::put_in_place() {
  if (!is_there(output_) || is_empty_folder(output_)) {
    rename_or_throw(partial_, output_);
  } else if (::renameat2(AT_FDCWD, partial_.c_str(), AT_FDCWD, output_.c_str(), RENAME_EXCHANGE) !=
             0) {
    if (errno != ENOSYS && errno != EINVAL && errno != ENOTSUP) {
      throw_failure(options_.output.string(), "cannot put it in place: " + system_message(errno));
    }
    replace_in_two_steps();
  }
  sync_directory(parent_of(output_));
}

void OutputFolder::replace_in_two_steps() {
  rename_or_throw(output_, previous_);
  try {
    rename_or_throw(partial_, output_);
  } catch (const Error&) {
    rename_or_throw(previous_, output_);
    throw;
  }
}

ScratchFolder::ScratchFolder(const std::string& name) {
  std::string pattern = (fs::temp_directory_path() / ("roformer-" + name + "-XXXXXX")).string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw_failure(pattern, "cannot make a folder: " + system_message(errno));
  }
  path_ = pattern;
}

ScratchFolder::~ScratchFolder() {
  std::error_code error;
  fs::remove_all(path_, error);
}

}  // namespace roformer
