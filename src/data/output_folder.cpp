#include "data/output_folder.h"

#include <fmt/format.h>

#include "base/error.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kLockFile = ".lock";

fs::path without_trailing_slash(const fs::path& path) {
  const fs::path normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

fs::path beside(const fs::path& path, const char* suffix) {
  fs::path other = path;
  other += suffix;
  return other;
}

void rename_or_throw(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw_failure(to.string(), "cannot put it in place: " + error.message());
}

}  // namespace

OutputFolder::OutputFolder(const fs::path& output, bool overwrite)
    : output_(without_trailing_slash(output)), partial_(beside(output_, ".partial")) {
  std::error_code error;
  if (output_.empty()) throw_usage("--output", "is empty, wanted the name of a folder");
  if (fs::exists(output_, error)) {
    const bool replaceable =
        fs::is_directory(output_, error) &&
        (fs::exists(output_ / "dataset.json", error) || fs::is_empty(output_, error));
    if (!replaceable) {
      throw_failure(output_.string(), "exists and is no prepared data set",
                    "choose another --output");
    }
    if (!overwrite && !fs::is_empty(output_, error)) {
      throw_failure(output_.string(), "exists already",
                    "replace it with --overwrite, or choose another --output");
    }
  }
  // Only what this program left there may be removed; its lock file tells.
  if (fs::exists(partial_, error) && !fs::is_empty(partial_, error) &&
      !fs::exists(partial_ / kLockFile, error)) {
    throw_failure(partial_.string(), "is needed for writing, but holds something else",
                  "move it away, or choose another --output");
  }
  make_directories(partial_);
  try {
    lock_.emplace(partial_);
  } catch (const Error& problem) {
    throw_failure(problem.parts().place, problem.parts().message,
                  "wait for it to end, or choose another --output");
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(partial_)) {
    if (entry.path().filename() != kLockFile) fs::remove_all(entry.path(), error);
  }
}

OutputFolder::~OutputFolder() {
  if (!lock_) return;
  std::error_code error;
  fs::remove_all(partial_, error);
}

void OutputFolder::commit() {
  std::error_code error;
  fs::remove(partial_ / kLockFile, error);
  sync_directory(partial_);
  const fs::path previous = beside(output_, ".previous");
  const bool replaces = fs::exists(output_, error);
  if (replaces) {
    if (fs::exists(previous / "dataset.json", error)) fs::remove_all(previous, error);
    rename_or_throw(output_, previous);
  }
  try {
    rename_or_throw(partial_, output_);
  } catch (const Error&) {
    if (replaces) fs::rename(previous, output_, error);
    throw;
  }
  lock_.reset();
  sync_directory(output_.has_parent_path() ? output_.parent_path() : fs::path("."));
  if (replaces) fs::remove_all(previous, error);
}

}  // namespace roformer
