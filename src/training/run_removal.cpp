#include "training/run_removal.h"

#include <fcntl.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>

#include "base/directory_lock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/inner_path.h"
#include "training/run_directory.h"
#include "training/run_files.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// A link that the user made for a run on another disk: the run would go and the link would stay.
void refuse_linked_folder(const fs::path& run) {
  std::error_code error;
  if (!fs::is_symlink(run, error)) return;
  throw_usage(run.string(), "is a link to " + fs::read_symlink(run, error).string(),
              "name the folder that it links to, and remove the link yourself");
}

// False on file systems that cannot rename without replacing.
bool rename_without_replacing(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno == EINVAL || errno == ENOSYS || errno == ENOTSUP) return false;
  if (errno == EEXIST) throw_usage(to.string(), "is there already", "choose another name");
  throw_failure(from.string(), "cannot rename: " + system_message(errno));
}

}  // namespace

std::vector<fs::path> remove_run(const fs::path& run) {
  refuse_linked_folder(run);
  require_plain_run(run);
  recover_run(run);
  std::vector<fs::path> left;
  {
    const DirectoryLock lock(InnerPath::named(run));
    PreviousRun(run, replaced_in(run)).discard();
    for (const fs::directory_entry& entry : fs::directory_iterator(run)) {
      const fs::path name = entry.path().filename();
      if (name != ".lock") left.push_back(name);
    }
    if (left.empty()) (InnerPath::named(run) / ".lock").remove_all();
  }
  std::error_code error;
  fs::remove(run, error);  // only an empty folder
  std::ranges::sort(left);
  return left;
}

void rename_run(const fs::path& run, const fs::path& renamed) {
  ROFORMER_ASSERT(run.parent_path() == renamed.parent_path());
  recover_run(run);
  const DirectoryLock lock(InnerPath::named(run));
  if (!rename_without_replacing(run, renamed)) {
    std::error_code error;
    if (fs::exists(fs::symlink_status(renamed, error))) {
      throw_usage(renamed.string(), "is there already", "choose another name");
    }
    InnerPath(run).move_to(renamed);
  }
  sync_directory(run.has_parent_path() ? run.parent_path() : ".");
}

}  // namespace roformer
