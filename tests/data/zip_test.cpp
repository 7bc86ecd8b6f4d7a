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
