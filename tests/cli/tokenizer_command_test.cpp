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

TEST_CASE("the tokenizer.json that is written for Hugging Face is read again, with the same ids") {
  const std::string kind = GENERATE("unigram", "bpe", "wordpiece", "characters");
  CAPTURE(kind);
  const TemporaryFolder folder;
  std::string corpus;
  for (int i = 0; i < 200; ++i) {
    corpus += "the cat sat on the mat and saw " + std::to_string(i * i) + " windows\n";
    corpus +=
        "Tie\xcc\x82\xcc\x81ng vie\xcc\xa3t, caf\xc3\xa9 na\xc3\xafve \xe5\x8c\x97\xe4\xba\xac\n";
  }
  const std::string text = (folder.path / "corpus.txt").string();
  const std::string own = (folder.path / "own").string();
  write_file_atomically(text, corpus);
  const Outcome trained =
      run({"tokenizer", "train", text, "--kind", kind, "--pieces", "90", "--output", own});
  INFO(trained.errors);
  REQUIRE(trained.code == 0);
  REQUIRE(std::filesystem::exists(own + "/tokenizer.json"));
  const std::string lines =
      "the windows sat\ncaf\xc3\xa9 caf\x65\xcc\x81 vi\xe1\xbb\x87t\n  two  blanks \n"
      "Ti\xc3\xaa\xcc\x81ng vi\xe1\xba\xb9\xcc\x82t \xea\xb0\x80\xe1\x86\xa8\n"
      "\xe5\x8c\x97\xe4\xba\xac\xef\xbc\xa1 \xf0\x9f\x91\x8d\xf0\x9f\x8f\xbd x\xcc\x81\n";
  const auto encoded = [&](const std::string& tokenizer, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"tokenizer", "encode", tokenizer});
    return run(more, lines).output;
  };
  CHECK(lines_of(encoded(own)).size() == 5);
  CHECK(encoded(own + "/tokenizer.json") == encoded(own));
}

TEST_CASE("the names of special tokens are tokens in a prompt and letters in data") {
  const TemporaryFolder folder;
  const std::string own = (folder.path / "own").string();
  write_file_atomically(folder.path / "corpus.txt", "abc [MASK] def\n");
  REQUIRE(run({"tokenizer", "train", (folder.path / "corpus.txt").string(), "--kind", "characters",
               "--pieces", "40", "--output", own})
              .code == 0);
  CHECK(lines_of(run({"tokenizer", "encode", own, "--special", "--pieces"}, "a[MASK]\n").output) ==
        std::vector<std::string>{"a [MASK]"});
  CHECK(lines_of(run({"tokenizer", "encode", own, "--pieces"}, "a[MASK]\n").output) ==
        std::vector<std::string>{"a [ M A S K ]"});
  CHECK(run({"tokenizer", "encode", "--bytes", "--special"}, "a[MASK]\xff\n").output ==
        "97 91 77 65 83 75 93 255\n");
  CHECK(run({"tokenizer", "encode", "--bytes", "--special"}, "a[MASK]b\n").output == "97 259 98\n");
  CHECK(run({"tokenizer", "encode", "--bytes"}, "[SEP]\n").output == "91 83 69 80 93\n");
}
