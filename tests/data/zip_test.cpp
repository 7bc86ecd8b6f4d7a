// The archive, read back by the reader of corpora (libarchive's other half).
#include "data/zip.h"

#include "base/file.h"
#include "catch.h"
#include "fixture.h"
#include "temporary_folder.h"

using namespace roformer;

TEST_CASE("a zip holds its members and is the same every time") {
  const TemporaryFolder folder;
  const auto path = folder.path / "two.zip";
  write_zip(path, {{.name = "a.txt", .contents = "one\ntwo\n"}, {.name = "b.txt", .contents = ""}});
  const std::string bytes = read_file(path);
  CHECK(bytes.starts_with("PK"));
  write_zip(path, {{.name = "a.txt", .contents = "one\ntwo\n"}, {.name = "b.txt", .contents = ""}});
  CHECK(read_file(path) == bytes);
  CollectingSink sink;
  read_corpus({.inputs = {path}}, sink);
  REQUIRE(!sink.documents.empty());
  CHECK(sink.documents[0] == "one|two");
}

TEST_CASE("what is left out of folders is left out of archives, and an empty file counts as read") {
  const TemporaryFolder folder;
  const auto path = folder.path / "mac.zip";
  write_zip(path, {{.name = "a.txt", .contents = "text\n"},
                   {.name = ".hidden", .contents = "no\n"},
                   {.name = "a.txt~", .contents = "no\n"},
                   {.name = "__MACOSX/._a.txt", .contents = std::string("no\0", 3)},
                   {.name = ".git/config", .contents = "no\n"}});
  write_text(folder.path / "empty.txt", "");
  CollectingSink sink;
  const CorpusCounts counts = read_corpus({.inputs = {path, folder.path / "empty.txt"}}, sink);
  CHECK(sink.documents == std::vector<std::string>{"text"});
  CHECK(counts.files == 2);
  CHECK(counts.skipped == 4);
}
