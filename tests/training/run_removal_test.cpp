// Removing a run must leave a whole run or none, whenever the process is killed.
#include "training/run_removal.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/directory_holder.h"
#include "base/directory_lock.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"
#include "training/run_directory.h"
#include "training/run_files.h"
#include "training/saved_run.h"

namespace roformer {
namespace fs = std::filesystem;

TEST_CASE("a run is removed with its tokenizer and what a killed process left") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  for (const char* const name : {"vocab.txt", "run.json", "summary.json.partial", "report.html"}) {
    write_file_atomically(path / name, "{}");
  }
  CHECK(remove_run(path).empty());
  CHECK_FALSE(fs::exists(path));

  begin_run(path);
  write_file_atomically(path / "notes.txt", "mine");
  CHECK(remove_run(path) == std::vector<fs::path>{"notes.txt"});
  CHECK(read_file(path / "notes.txt") == "mine");
  CHECK_FALSE(fs::exists(path / "config.yaml"));
}

TEST_CASE("a run that was half removed is whole again or gone") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  save(path, 10, 2.0);
  const bool discarded = GENERATE(false, true);
  const pid_t child = ::fork();
  if (child == 0) {
    const DirectoryLock lock(InnerPath::named(path));
    const PreviousRun aside(path, replaced_in(path));
    if (discarded) fs::rename(path / ".previous", path / ".outdated");
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  CHECK_FALSE(fs::exists(path / "config.yaml"));
  recover_run(path);
  CHECK(fs::exists(path / "config.yaml") != discarded);
  CHECK_FALSE(fs::exists(path / ".outdated"));
  CHECK_NOTHROW(remove_run(path));
  CHECK_FALSE(fs::exists(path));
}

TEST_CASE("a held run is neither removed nor renamed") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "run";
  begin_run(path);
  {
    const DirectoryLock held(path);
    CHECK(directory_holder(path).starts_with("process " + std::to_string(::getpid())));
    CHECK_THROWS_AS(remove_run(path), DirectoryInUse);
    CHECK_THROWS_AS(rename_run(path, folder.path / "new"), DirectoryInUse);
    CHECK(directory_holder(path) != "");  // a look does not free it
  }
  CHECK(directory_holder(path) == "");
  rename_run(path, folder.path / "new");
  CHECK(is_run(folder.path / "new"));
  CHECK_NOTHROW(DirectoryLock(folder.path / "new"));
}

TEST_CASE("a killed holder is told from one that lives, another machine's by its signs of life") {
  const TemporaryFolder folder;
  const auto write = [&](const std::string& text) {
    write_file_atomically(InnerPath::named(folder.path) / ".lock", text);
  };
  write("123 " + host_name() + " 4\n");
  CHECK(directory_holder(folder.path) == "");  // killed: nobody has the file locked
  write("123 elsewhere 4\n");
  CHECK(directory_holder(folder.path) == "process 123 on elsewhere");
  fs::last_write_time(folder.path / ".lock",
                      fs::file_time_type::clock::now() - std::chrono::minutes(2));
  CHECK(directory_holder(folder.path) == "");
  fs::remove(folder.path / ".lock");
  CHECK(directory_holder(folder.path) == "");
  fs::create_symlink("/dev/zero", folder.path / ".lock");
  CHECK(directory_holder(folder.path) == "");
}

}  // namespace roformer
