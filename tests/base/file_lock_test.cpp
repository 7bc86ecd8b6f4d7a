#include "base/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/output_folder.h"
#include "catch.h"
#include "temporary_folder.h"

namespace {

// What the file system answers, in turn; then the kernel itself.
std::vector<int> answers;
int always = 0;

}  // namespace

extern "C" int flock(int descriptor, int operation) noexcept {
  if (always == 0 && answers.empty()) {
    return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
  }
  errno = always;
  if (!answers.empty()) {
    errno = answers.front();
    answers.erase(answers.begin());
  }
  return -1;
}

namespace roformer {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// A file system without locks, while this lives.
struct NoLocks {
  explicit NoLocks(int error_number) { always = error_number; }
  ~NoLocks() { always = 0; }
};

}  // namespace

TEST_CASE("a lock is ours, another's, or there are none") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "file";
  const Descriptor first(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
  const Descriptor second(::open(path.c_str(), O_RDWR));
  CHECK(try_lock(first.number(), path) == FileLock::ours);
  CHECK(try_lock(second.number(), path) == FileLock::of_another);
  answers = {EINTR, EINTR};
  CHECK(try_lock(first.number(), path) == FileLock::ours);
  for (const int none : {ENOSYS, ENOLCK, ENOTSUP, EOPNOTSUPP}) {
    const NoLocks here(none);
    CHECK(try_lock(first.number(), path) == FileLock::none_here);
  }
  const NoLocks broken(EIO);
  CHECK_THROWS_WITH(try_lock(first.number(), path), Catch::Contains("cannot lock: Input/output"));
}

TEST_CASE("where a file system has no locks, all that takes one goes on") {
  const TemporaryFolder folder;
  for (const int none : {ENOSYS, ENOLCK, ENOTSUP}) {
    const NoLocks here(none);
    write_file_atomically(folder.path / "file", "whole");
    CHECK(read_file(folder.path / "file") == "whole");
    CHECK_NOTHROW(DirectoryLock(folder.path));
    OutputFolder output({.output = folder.path / std::to_string(none)});
    write_file_atomically(output.path() / "file", "x");
    output.commit();
    CHECK(read_file(folder.path / std::to_string(none) / "file") == "x");
  }
}

TEST_CASE("where a file system has no locks, the signs of life tell of another process") {
  const TemporaryFolder folder;
  const NoLocks here(ENOLCK);
  const DirectoryLockOptions options{.beat = milliseconds(20), .patience = milliseconds(500)};
  {
    const DirectoryLock first(folder.path, options);
    CHECK_THROWS_AS(DirectoryLock(folder.path, options), DirectoryInUse);
  }
  std::ofstream(folder.path / ".lock") << "4711 " << options.host << " 1\n";  // it was killed
  CHECK_NOTHROW(DirectoryLock(folder.path, options));
}

}  // namespace roformer
