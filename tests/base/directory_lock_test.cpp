#include "base/directory_lock.h"

#include <atomic>
#include <fstream>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"

namespace roformer {
namespace {

using std::chrono::milliseconds;

// As another machine would hold it whose lock the kernel here does not see.
void write_lock(const std::filesystem::path& folder, int number) {
  std::ofstream(folder / ".lock") << "4711 elsewhere " << number << '\n';
}

}  // namespace

TEST_CASE("a locked directory refuses a second holder") {
  const TemporaryFolder folder;
  {
    const DirectoryLock first(folder.path);
    CHECK_THROWS_WITH(DirectoryLock(folder.path), Catch::Contains("in use by another process"));
  }
  CHECK_NOTHROW(DirectoryLock(folder.path));
}

TEST_CASE("a directory held on another machine is known by its signs of life") {
  const TemporaryFolder folder;
  write_lock(folder.path, 1);
  std::atomic<bool> lives{true};
  std::thread holder([&] {
    for (int number = 2; lives; ++number) {
      std::this_thread::sleep_for(milliseconds(20));
      write_lock(folder.path, number);
    }
  });
  CHECK_THROWS_WITH(
      DirectoryLock(folder.path, {.beat = milliseconds(20), .patience = milliseconds(2000)}),
      Catch::Contains("in use by another process (process 4711 on elsewhere)"));
  lives = false;
  holder.join();
}

TEST_CASE("what a process killed on another machine has left is taken over") {
  const TemporaryFolder folder;
  write_lock(folder.path, 1);
  {
    const DirectoryLock lock(
        folder.path, {.host = "here", .beat = milliseconds(20), .patience = milliseconds(100)});
    const std::string first = read_file(folder.path / ".lock");
    CHECK_THAT(first, Catch::Contains(std::to_string(::getpid()) + " here "));
    std::this_thread::sleep_for(milliseconds(200));
    CHECK(read_file(folder.path / ".lock") != first);
  }
  CHECK(read_file(folder.path / ".lock").empty());
}

}  // namespace roformer
