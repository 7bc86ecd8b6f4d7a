// `roformer tokenizer encode` and `decode`: a line in, a line out.
#include "base/file.h"
#include "catch.h"
#include "cli/run_command.h"
#include "has.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;

TEST_CASE("a line of ids is a line of text, whatever the ids") {
  const Outcome outcome = run({"tokenizer", "decode", "--bytes"}, "97 10 98 13 10 99\n\n100\n");
  REQUIRE(outcome.code == 0);
  CHECK(outcome.output == "a b  c\n\nd\n");
}

TEST_CASE("what was answered before an error is written") {
  const Outcome outcome = run({"tokenizer", "decode", "--bytes"}, "97\n98\nx\n99\n");
  CHECK(outcome.code == 1);
  CHECK(outcome.output == "a\nb\n");
  CHECK(has(outcome.errors, "standard input:3: \"x\" is not an id from 0 to"));
}

TEST_CASE("lines to encode may be UTF-16 with a mark, and without one are refused") {
  const TemporaryFolder folder;
  const std::string vocabulary = (folder.path / "vocab.txt").string();
  write_file_atomically(vocabulary, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhouse\ntree\n");
  const auto encoded = [&](const std::string& text) {
    return run({"tokenizer", "encode", "--wordpiece", vocabulary}, text);
  };
  const std::string text = "house\n\ntree house\n";
  std::string utf16 = "\xff\xfe";
  for (const char c : text) utf16 += {c, '\0'};
  CHECK(encoded(text).output == "5\n\n6 5\n");
  CHECK(encoded("\xef\xbb\xbfhouse\r\n\r\ntree house\r\n").output == "5\n\n6 5\n");
  CHECK(encoded(utf16).output == "5\n\n6 5\n");
  const Outcome refused = encoded(utf16.substr(2));
  CHECK(refused.code == 1);
  CHECK(has(refused.errors, "standard input: is no text: a NUL byte at offset 1"));
  CHECK(refused.output.empty());
  CHECK(has(said([&] { encoded("house \xff\n"); }),
            "standard input: 1 malformed UTF-8 sequence became U+FFFD"));
}

TEST_CASE("bytes that are no UTF-8 are ids of bytes") {
  const Outcome outcome = run({"tokenizer", "encode", "--bytes"}, "a\xff\n");
  CHECK(outcome.output == "97 255\n");
}
