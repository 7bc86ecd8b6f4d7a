#include "report/json_lines.h"

#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

TEST_CASE("lines are there for a reader as soon as they are written") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "metrics.jsonl";
  JsonLinesWriter writer(path);
  writer.append({{"step", 1}, {"loss", 9.25}});
  writer.append({{"step", 2}, {"loss", std::nan("")}, {"note", "two\nlines, bad \xff byte"}});
  CHECK(read_file(path) ==
        "{\"step\":1,\"loss\":9.25}\n"
        "{\"step\":2,\"loss\":null,\"note\":\"two\\nlines, bad \xef\xbf\xbd byte\"}\n");
  CHECK(read_json_lines(path).size() == 2);
}

TEST_CASE("the last lines of a long file are read without the others") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "metrics.jsonl";
  write_file_atomically(path, "");
  CHECK(read_last_json_lines(path).empty());
  std::string lines = "damaged\n";
  for (int step = 1; step <= 10'000; ++step) {
    lines += "{\"step\":" + std::to_string(step) + "}\n";
  }
  write_file_atomically(path, lines + "{\"st");
  const std::vector<nlohmann::json> last = read_last_json_lines(path);
  CHECK(last.size() > 1000);
  CHECK(last.size() < 9000);
  CHECK(last.back()["step"] == 10'000);
  CHECK(last.front()["step"] == 10'001 - std::ssize(last));
}

TEST_CASE("with an interval, lines wait for flush or the end") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "metrics.jsonl";
  {
    JsonLinesWriter writer(path, std::chrono::hours(1));
    writer.append({{"step", 1}});
    CHECK(read_file(path).empty());
    writer.flush();
    CHECK(read_json_lines(path).size() == 1);
    writer.append({{"step", 2}});
  }
  CHECK(read_json_lines(path).size() == 2);
}

TEST_CASE("a file is cut back to a step") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "metrics.jsonl";
  const std::string kept = "{\"run\": \"x\"}\n{\"step\": 1, \"loss\": 0.10}\n{\"step\":2}\n";
  write_file_atomically(path, kept + "{\"step\":3}\n{\"step\":4}\n{\"step\":5,\"lo");
  truncate_after(path, 2);
  CHECK(read_file(path) == kept);  // the lines as they were, digit for digit
  truncate_after(path, 2);
  CHECK(read_file(path) == kept);
  truncate_after(path, -1);
  CHECK(read_file(path) == "{\"run\": \"x\"}\n");
  CHECK_NOTHROW(truncate_after(folder.path / "missing", 2));
}

TEST_CASE("half a line at the end is dropped, a whole one without its end is kept") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "metrics.jsonl";
  const auto after_append = [&](const std::string& contents) {
    write_file_atomically(path, contents);
    JsonLinesWriter(path).append({{"step", 9}});
    return read_file(path);
  };
  CHECK(after_append("{\"step\":1}\n{\"st") == "{\"step\":1}\n{\"step\":9}\n");
  CHECK(after_append("{\"st") == "{\"step\":9}\n");
  CHECK(after_append("{\"step\":1}") == "{\"step\":1}\n{\"step\":9}\n");
  // What some file systems leave after a power cut.
  CHECK(after_append("{\"step\":1}\n" + std::string(20, '\0')) == "{\"step\":1}\n{\"step\":9}\n");
  CHECK(after_append("") == "{\"step\":9}\n");
}

TEST_CASE("garbage is refused with its line number and left as it was") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "metrics.jsonl";
  for (const std::string garbage : {"{\"step\":", "12", "", "[1]", "\x7f\xff"}) {
    const std::string contents = "{\"step\":1}\n" + garbage + "\n{\"step\":3}\n";
    write_file_atomically(path, contents);
    CHECK_THROWS_WITH(truncate_after(path, 1), Catch::Contains("metrics.jsonl:2: is not a JSON"));
    CHECK_THROWS_AS(read_json_lines(path), Error);
    CHECK(read_file(path) == contents);
  }
}

TEST_CASE("a full disk and a missing folder are errors") {
  CHECK_THROWS_WITH(JsonLinesWriter("/nowhere/metrics.jsonl"), Catch::Contains("/nowhere/"));
  if (!fs::exists("/dev/full")) return;
  AppendFile full(InnerPath::named("/dev/full"));
  CHECK_THROWS_WITH(full.append("x"), Catch::Contains("No space left"));
}
