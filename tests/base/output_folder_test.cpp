#include "base/output_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

OutputFolder::Options options_for(const fs::path& output, bool overwrite = true) {
  return {.output = output,
          .overwrite = overwrite,
          .flag = "--output",
          .contents = "a set of notes",
          .is_replaceable = [](const fs::path& path) { return fs::exists(path / "notes"); }};
}

void put(const fs::path& folder, const std::string& text) {
  make_directories(folder);
  write_file_atomically(folder / "notes", text);
}

void replace(const fs::path& output, const std::string& text) {
  OutputFolder folder(options_for(output));
  put(folder.path(), text);
  folder.commit();
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

constexpr const char* kClaim = "roformer process 1\n";

}  // namespace

TEST_CASE("a folder is made and replaced whole, and nothing is left beside it") {
  const TemporaryFolder temporary;
  const fs::path output = temporary.path / "new" / "deep" / "out";
  replace(output, "first");
  CHECK(read_file(output / "notes") == "first");
  write_file_atomically(output / "more", "gone with the folder");
  replace(output, "second");
  CHECK(names_in(output) == std::vector<std::string>{"notes"});
  CHECK(read_file(output / "notes") == "second");
  replace(output.string() + "/", "third");
  CHECK(read_file(output / "notes") == "third");
  CHECK(names_in(output.parent_path()) == std::vector<std::string>{"out"});
}

TEST_CASE("what is given up leaves nothing, not even the folders that were made for it") {
  const TemporaryFolder temporary;
  {
    OutputFolder folder(options_for(temporary.path / "new" / "deep" / "out"));
    put(folder.path(), "half");
  }
  CHECK(names_in(temporary.path).empty());
  replace(temporary.path / "out", "whole");
  {
    OutputFolder folder(options_for(temporary.path / "out"));
    put(folder.path(), "half");
  }
  CHECK(names_in(temporary.path) == std::vector<std::string>{"out"});
  CHECK(read_file(temporary.path / "out" / "notes") == "whole");
}

TEST_CASE("only what may be replaced is") {
  const TemporaryFolder temporary;
  const fs::path output = temporary.path / "out";
  fs::create_directory(output);
  replace(output, "an empty folder is no obstacle");
  CHECK_THROWS_WITH(OutputFolder(options_for(output, false)),
                    output.string() +
                        ": exists already (hint: replace it with --overwrite, or "
                        "choose another --output)");
  fs::rename(output / "notes", output / "thesis");
  CHECK_THROWS_WITH(OutputFolder(options_for(output)),
                    output.string() +
                        ": exists and is not a set of notes (hint: choose another "
                        "--output)");
  CHECK(names_in(temporary.path) == std::vector<std::string>{"out"});
  // Names that the program did not take are somebody's.
  for (const char* name : {"out.partial", "out.previous"}) {
    put(temporary.path / name, "mine");
    CHECK_THROWS_AS(OutputFolder(options_for(output)), Error);
    CHECK(read_file(temporary.path / name / "notes") == "mine");
    fs::remove_all(temporary.path / name);
  }
  write_file_atomically(temporary.path / "out.lock", "mine");
  CHECK_THROWS_AS(OutputFolder(options_for(output)), Error);
  CHECK(read_file(temporary.path / "out.lock") == "mine");
}

TEST_CASE("a link to a folder stays one") {
  const TemporaryFolder temporary;
  replace(temporary.path / "real", "old");
  fs::create_directory_symlink("real", temporary.path / "link");
  replace(temporary.path / "link", "new");
  CHECK(fs::is_symlink(temporary.path / "link"));
  CHECK(read_file(temporary.path / "real" / "notes") == "new");
}

TEST_CASE("two processes do not write one folder") {
  const TemporaryFolder temporary;
  const fs::path output = temporary.path / "out";
  std::optional<OutputFolder> first(options_for(output));
  CHECK_THROWS_WITH(OutputFolder(options_for(output)),
                    output.string() + ": is being written by another process (process " +
                        std::to_string(::getpid()) +
                        ") (hint: wait for it to end, or choose another --output)");
  first.reset();
  CHECK_NOTHROW(OutputFolder(options_for(output)));
}

// Every state that a kill leaves, in the order of the system calls.
TEST_CASE("the next process clears up after one that was killed") {
  const TemporaryFolder temporary;
  const fs::path output = temporary.path / "out";
  const fs::path lock = temporary.path / "out.lock";
  const fs::path partial = temporary.path / "out.partial";
  const fs::path previous = temporary.path / "out.previous";
  const auto claim = [&] { write_file_atomically(lock, kClaim); };
  std::string kept = "old";
  replace(output, "old");
  SECTION("before it claimed the names") {
    write_file_atomically(lock, "");
  }
  SECTION("while it claimed the names") {
    write_file_atomically(lock, "roformer pro");
  }
  SECTION("before anything was written") {
    claim();
  }
  SECTION("while it was written") {
    claim();
    put(partial, "half");
  }
  SECTION("after the exchange") {
    claim();
    put(partial, "old");
    put(output, kept = "new");
  }
  SECTION("between the two steps where nothing can be exchanged") {
    claim();
    fs::rename(output, previous);
    put(partial, "new");
  }
  SECTION("after the two steps") {
    claim();
    fs::rename(output, previous);
    put(output, kept = "new");
  }
  SECTION("while the old one was removed") {
    claim();
    fs::rename(output, previous);
    fs::remove_all(previous / "notes");
    put(output, kept = "new");
  }
  {
    const OutputFolder next(options_for(output));
    CHECK(read_file(output / "notes") == kept);
    CHECK(names_in(partial).empty());
    CHECK_FALSE(fs::exists(previous));
  }
  CHECK(names_in(temporary.path) == std::vector<std::string>{"out"});
  replace(output, "next");
  CHECK(names_in(temporary.path) == std::vector<std::string>{"out"});
}

TEST_CASE("a folder with a journal is gone on with after a kill, and is put in place without it") {
  const TemporaryFolder temporary;
  const fs::path output = temporary.path / "out";
  const fs::path lock = temporary.path / "out.lock";
  const fs::path partial = temporary.path / "out.partial";
  OutputFolder::Options options = options_for(output);
  options.journal = "journal";
  const auto kill = [&] {
    write_file_atomically(lock, "roformer process 99999999999\n");
    put(partial, "half");
    write_file_atomically(partial / "journal", "half is whole");
  };
  replace(output, "old");
  SECTION("what it left is there, under a claim that was never given up") {
    kill();
    OutputFolder next(options);
    CHECK(next.is_begun());
    CHECK(read_file(partial / "notes") == "half");
    CHECK(read_file(lock) == "roformer process " + std::to_string(::getpid()) + "\n");
    next.commit();
    CHECK(names_in(output) == std::vector<std::string>{"notes"});
    CHECK(read_file(output / "notes") == "half");
  }
  SECTION("a command that is refused leaves it to the next") {
    kill();
    OutputFolder::Options careful = options;
    careful.overwrite = false;
    CHECK_THROWS_AS(OutputFolder(careful), Error);
    CHECK(OutputFolder(options).is_begun());
  }
  SECTION("one that was put in place loses its journal, and the old folder is no beginning") {
    write_file_atomically(lock, kClaim);
    put(partial, "old");
    put(output, "new");
    write_file_atomically(output / "journal", "all is whole");
    CHECK_FALSE(OutputFolder(options).is_begun());
    CHECK(names_in(output) == std::vector<std::string>{"notes"});
    CHECK(read_file(output / "notes") == "new");
  }
  SECTION("one without a journal is removed") {
    kill();
    fs::remove(partial / "journal");
    const OutputFolder next(options);
    CHECK_FALSE(next.is_begun());
    CHECK(names_in(partial).empty());
  }
  CHECK(names_in(temporary.path) == std::vector<std::string>{"out"});
}
