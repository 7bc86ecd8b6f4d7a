#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/checksums.h"
#include "base/error.h"
#include "base/json.h"
#include "catch.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

TEST_CASE("an atomic file that is not committed leaves the old one") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "value";
  write_file_atomically(path, "old");
  {
    AtomicFile file(path);
    file.write("half of the new");
  }
  CHECK(read_file(path) == "old");
  CHECK_FALSE(fs::exists(path.string() + ".partial"));
  AtomicFile file(path);
  file.write("0000 new");
  file.write_at(0, "1234", 4);
  file.commit();
  CHECK(read_file(path) == "1234 new");
  const MappedFile map(path);
  CHECK(map.bytes().size() == 8);
}

TEST_CASE("of two who write one file, each has written it whole, and the last one's stays") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "file";
  auto first = std::make_unique<AtomicFile>(path);
  first->write("first");
  std::thread second([&] { write_file_atomically(path, "second"); });  // waits
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  first->commit();
  first.reset();
  second.join();
  CHECK(read_file(path) == "second");
  CHECK(std::distance(fs::directory_iterator(folder.path), {}) == 1);
  // One that gives up takes nothing away from who waits.
  first = std::make_unique<AtomicFile>(path);
  std::thread third([&] { write_file_atomically(path, "third"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  first.reset();
  third.join();
  CHECK(read_file(path) == "third");
  // What a killed process left is in nobody's way.
  write_file_atomically(folder.path / "file.partial", "left");
  write_file_atomically(path, "fourth");
  CHECK(read_file(path) == "fourth");
}

TEST_CASE("missing and unwritable places are named") {
  CHECK_THROWS_WITH(read_file("/nowhere/at/all"),
                    "/nowhere/at/all: cannot read: No such file or directory");
  CHECK_THROWS_AS(AtomicFile("/proc/nothing"), Error);
  CHECK_THROWS_AS(MappedFile(fs::temp_directory_path()), Error);
}

TEST_CASE("a full disk is an error and not a short file") {
  if (!fs::exists("/dev/full")) return;
  AtomicFile file(InnerPath::named("/dev/full"));
  file.write("x");
  CHECK_THROWS_WITH(file.commit(), Catch::Contains("No space left"));
}

TEST_CASE("what a name stands for stays what it is") {
  const TemporaryFolder folder;
  const fs::path target = folder.path / "target", link = folder.path / "link";
  write_file_atomically(target, "old");
  fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("target", link);
  write_file_atomically(InnerPath::named(link), "new");
  CHECK(fs::is_symlink(link));
  CHECK(read_file(target) == "new");
  CHECK(fs::status(target).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
  write_file_atomically(InnerPath::named("/dev/null"), "nothing");
  CHECK(fs::is_character_file("/dev/null"));
  const fs::path device = folder.path / "device";
  fs::create_symlink("/dev/full", device);
  CHECK_THROWS_WITH(write_file_atomically(InnerPath::named(device), "x"),
                    Catch::Contains("No space left"));
  CHECK(fs::is_symlink(device));
  CHECK_THROWS_WITH(AtomicFile(folder.path), Catch::Contains("is a directory"));
  fs::create_symlink("later", folder.path / "dangling");
  write_file_atomically(InnerPath::named(folder.path / "dangling"), "x");
  CHECK(fs::is_symlink(folder.path / "dangling"));
  CHECK(read_file(folder.path / "later") == "x");
  fs::create_symlink("circle", folder.path / "circle");
  CHECK_THROWS_WITH(AtomicFile(InnerPath::named(folder.path / "circle")),
                    Catch::Contains("loop of symbolic links"));
}

TEST_CASE("what is open already is written to where it stands") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "redirected";
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  REQUIRE(::write(descriptor, "before ", 7) == 7);
  write_file_atomically(InnerPath::named("/dev/fd/" + std::to_string(descriptor)), "and after");
  ::close(descriptor);
  CHECK(read_file(path) == "before and after");
}

TEST_CASE("what lies in a folder is read without waiting, and only up to its size's limit") {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path / "pipe", sparse = folder.path / "sparse";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH(read_file(pipe), pipe.string() + ": is a pipe, not a regular file");
  CHECK_THROWS_WITH(MappedFile(pipe), Catch::Contains("is a pipe, not a regular file"));
  CHECK_THROWS_WITH(read_json(pipe), Catch::Contains("is a pipe"));
  write_file_atomically(sparse, "");
  fs::resize_file(sparse, std::uintmax_t{6} << 30);
  const std::string larger = ": is larger than 64.0 MiB, the most that is read of such a file";
  CHECK_THROWS_WITH(read_json(sparse), sparse.string() + larger);
  CHECK_THROWS_WITH(read_checksummed_json(sparse), sparse.string() + larger);
  CHECK_THROWS_WITH(check_checksummed_lines(sparse), sparse.string() + larger);
  CHECK_THROWS_WITH(read_file(sparse), Catch::Contains("is larger than 1.0 GiB"));
}

TEST_CASE("what the user names as a text may be a pipe") {
  const TemporaryFolder folder;
  const fs::path pipe = folder.path / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread writer([&] {
    const int end = ::open(pipe.c_str(), O_WRONLY);
    CHECK(::write(end, "a text", 6) == 6);
    ::close(end);
  });
  CHECK(read_input(pipe) == "a text");
  writer.join();
  // As a shell passes <(command).
  int ends[2] = {};
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], "{}", 2) == 2);
  ::close(ends[1]);
  CHECK(read_file("/dev/fd/" + std::to_string(ends[0])) == "{}");
  ::close(ends[0]);
}

TEST_CASE("an output is known to be writable before the work") {
  const TemporaryFolder folder;
  CHECK_NOTHROW(require_output(folder.path / "a" / "b.json"));
  CHECK(fs::is_directory(folder.path / "a"));
  CHECK_NOTHROW(require_output("/dev/stdout"));
  CHECK_THROWS_WITH(require_output(folder.path), Catch::Contains("is a directory"));
  write_file_atomically(folder.path / "file", "");
  CHECK_THROWS_AS(require_output(folder.path / "file" / "b.json"), Error);
}

TEST_CASE("a mapped file that is cut short ends the program with a line") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "data", said = folder.path / "said";
  write_file_atomically(path, std::string(1 << 16, 'x'));
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open(said.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    explain_bus_errors();
    const MappedFile map(path);
    if (::truncate(path.c_str(), 0) != 0) ::_exit(1);
    ::_exit(static_cast<int>(map.bytes()[1 << 15]));
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 128 + SIGBUS);
  CHECK(read_file(said).starts_with("error: a file was truncated while it was read"));
}
