#include "training/previous_run.h"

#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr const char* kWhole = ".previous";
constexpr const char* kMoving = ".previous.partial";
constexpr const char* kOutdated = ".outdated";

void move_entry(const InnerPath& from, const InnerPath& to) {
  const std::error_code error = from.rename_to(to);
  if (error) throw_failure(from.string(), "cannot rename: " + error.message());
}

void remove_entry(const InnerPath& path) {
  const std::error_code error = path.remove_all();
  if (error) throw_failure(path.string(), "cannot remove: " + error.message());
}

std::vector<fs::path> names_in(const fs::path& folder) {
  std::vector<fs::path> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

// On a network disk a file that somebody reads stays: the next opening of the run tries again.
void remove_outdated(const InnerPath& folder) {
  const std::error_code error = (folder / kOutdated).remove_all();
  if (error) {
    log::warn("{}: cannot remove: {}", (folder / kOutdated).string(), error.message());
  }
}

void bring_back(const InnerPath& folder) {
  for (const fs::path& name : names_in(folder / kMoving)) {
    remove_entry(folder / name);  // a file of the log that a new run began, say
    move_entry(folder / kMoving / name, folder / name);
  }
  remove_entry(folder / kMoving);
  sync_directory(folder);
}

}  // namespace

PreviousRun::PreviousRun(fs::path folder, IsOurs is_ours)
    : folder_(InnerPath::named(std::move(folder))), is_ours_(std::move(is_ours)) {
  (folder_ / kMoving).make_folder();
  try {
    for (const fs::path& name : names_in(folder_)) {
      if (is_ours_(name)) move_entry(folder_ / name, folder_ / kMoving / name);
    }
    move_entry(folder_ / kMoving, folder_ / kWhole);
  } catch (...) {
    bring_back(folder_);
    throw;
  }
  sync_directory(folder_);
}

PreviousRun::~PreviousRun() {
  if (discarded_) return;
  try {
    recover(folder_, is_ours_);
  } catch (const std::exception& problem) {  // the next process that opens the folder tries again
    log::warn("the run that was to be overwritten is in {}: {}", (folder_ / kWhole).string(),
              problem.what());
  }
}

void PreviousRun::discard() {
  if (discarded_) return;
  move_entry(folder_ / kWhole, folder_ / kOutdated);
  discarded_ = true;
  remove_outdated(folder_);
}

bool PreviousRun::needs_recovery(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / kWhole, error) || fs::exists(folder / kMoving, error) ||
         fs::exists(folder / kOutdated, error);
}

void PreviousRun::recover(const fs::path& run, const IsOurs& is_ours) {
  const InnerPath folder = InnerPath::named(run);
  for (const char* const aside : {kWhole, kMoving, kOutdated}) (folder / aside).require_plain();
  std::error_code error;
  remove_outdated(folder);
  if (fs::exists((folder / kWhole).path(), error)) {
    for (const fs::path& name : names_in(folder)) {
      if (is_ours(name)) remove_entry(folder / name);
    }
    move_entry(folder / kWhole, folder / kMoving);
  }
  if (fs::exists((folder / kMoving).path(), error)) {
    bring_back(folder);
    log::info("{}: the run that was there before is back", folder.string());
  }
}

bool PreviousRun::is_aside(const fs::path& name) {
  return name == kWhole || name == kMoving || name == kOutdated;
}

}  // namespace roformer
