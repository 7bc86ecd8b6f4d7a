// Parquet through Python's pyarrow, where there is one, and the one line that the user reads where
// there is none.
#include "data/parquet.h"

#include <stdlib.h>

#include <chrono>
#include <cstdlib>

#include "base/file.h"
#include "catch.h"
#include "data/table_reader.h"
#include "data/tagged_sentences.h"
#include "fixture.h"
#include "has.h"
#include "message_of.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

const fs::path kRows = fs::path(FIXTURES) / "rows.parquet";

// PATH as long as it lives.
class SearchPath {
 public:
  explicit SearchPath(const std::string& path) { ::setenv("PATH", path.c_str(), 1); }
  ~SearchPath() { ::setenv("PATH", before_.c_str(), 1); }
  SearchPath(const SearchPath&) = delete;
  SearchPath& operator=(const SearchPath&) = delete;

 private:
  std::string before_ = std::getenv("PATH");
};

bool pyarrow_exists() {
  const bool exists = std::system("python3 -c 'import pyarrow.parquet' 2>/dev/null") == 0;
  if (!exists) WARN("not run: python3 has no pyarrow");
  return exists;
}

// A folder with a python3 that is this shell script.
struct FakePython {
  TemporaryFolder folder;
  explicit FakePython(const std::string& script) {
    write_text(folder.path / "python3", "#!/bin/sh\n" + script);
    fs::permissions(folder.path / "python3", fs::perms::owner_all);
  }
  std::string refusal() const {
    const SearchPath path(folder.path.string() + ":/usr/bin:/bin");
    return message_of([] { documents_of({.inputs = {kRows}}); });
  }
};

}  // namespace

TEST_CASE("the documents of a Parquet file are one of its columns") {
  if (!pyarrow_exists()) return;
  CHECK(documents_of({.inputs = {kRows}}) ==
        std::vector<std::string>{"Größe 日本", "two|lines, \"quoted\"", "c"});
  CHECK(documents_of({.inputs = {kRows}, .text_field = "day"}).back() == "2024-02-29");
  CHECK(has(message_of([] { documents_of({.inputs = {kRows}, .text_field = "tokens"}); }),
            "rows.parquet:1: "));
}

TEST_CASE("a Parquet file is a table, whatever its name, and may be compressed") {
  if (!pyarrow_exists()) return;
  const TemporaryFolder folder;
  const fs::path copy = folder.path / "-x 'a'\n$(false)";
  fs::copy_file(kRows, copy);
  CHECK(std::system(
            ("gzip -c '" + kRows.string() + "' > " + folder.path.string() + "/b.gz").c_str()) == 0);
  for (const fs::path& file : {kRows, copy, folder.path / "b.gz"}) {
    TableReader table(file, {});
    CHECK(table.names() ==
          std::vector<std::string>{"day", "label", "raw", "score", "text", "tokens"});
    REQUIRE(table.next());
    CHECK(table.row() ==
          std::vector<std::string>{"2024-02-29", "1", "x", "0.5", "Größe 日本", "a|b"});
    REQUIRE(table.next());
    CHECK(table.text(3).empty());  // NaN
    REQUIRE(table.next());
    CHECK(table.text(1).empty());
    CHECK(table.text(2) == "\xef\xbf\xbd");
    CHECK_FALSE(table.next());
  }
}

TEST_CASE("a reader that stops early ends the Python program") {
  // More rows than are read at once to find the names; then it would go on for a minute.
  const FakePython python("yes '{\"text\":\"a\"}' | head -n 300000; exec sleep 60");
  const SearchPath path(python.folder.path.string() + ":/usr/bin:/bin");
  const auto begin = std::chrono::steady_clock::now();
  {
    TableReader table(kRows, {});
    CHECK(table.names() == std::vector<std::string>{"text"});
  }
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(30));
}

TEST_CASE("one line says why a Parquet file cannot be read") {
  {
    const TemporaryFolder nothing;
    const SearchPath path(nothing.path.string());
    const std::string refusal = message_of([] { documents_of({.inputs = {kRows}}); });
    CHECK(has(refusal, "rows.parquet: cannot read: Parquet is read by python3"));
    CHECK(has(refusal, "python3 does not start: No such file or directory"));
    CHECK(has(refusal, "or save the file as JSON Lines"));
  }
  CHECK(has(FakePython("exit 3").refusal(), "the python3 on PATH has no pyarrow"));
  CHECK(has(FakePython("exit 3").refusal(), "python3 -m pip install pyarrow"));
  CHECK(has(FakePython("echo one >&2; echo two >&2; exit 1").refusal(), "pyarrow: one"));
  CHECK(has(FakePython("kill -9 $$").refusal(), "pyarrow: ended without a message"));
  // What comes before a failure is not the whole file.
  CHECK(has(FakePython("echo '{\"text\":\"a\"}'; exit 1").refusal(), "pyarrow: ended"));
}

TEST_CASE("a damaged Parquet file is refused by pyarrow's own words") {
  if (!pyarrow_exists()) return;
  const TemporaryFolder folder;
  const std::string whole = read_file(kRows, 1 << 20);
  write_text(folder.path / "cut.parquet", whole.substr(0, whole.size() / 2));
  const std::string refusal =
      message_of([&] { documents_of({.inputs = {folder.path / "cut.parquet"}}); });
  CHECK(has(refusal, "cut.parquet: cannot read: pyarrow: "));
}
