#include "data/corpus.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "fixture.h"
#include "has.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;
using Documents = std::vector<std::string>;

namespace {

const std::filesystem::path kFixtures = FIXTURES;

Documents documents_of_text(std::string_view text, DocumentSeparator separator) {
  const TemporaryFolder folder;
  write_text(folder.path / "text", text);
  return documents_of({.inputs = {folder.path / "text"}, .separator = separator});
}

std::string complaint(const CorpusOptions& options) {
  try {
    documents_of(options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Documents end where the separator says") {
  const std::string text = "\n a\nb\n\nc\n \t\n\r\nd\r\n";
  using enum DocumentSeparator;
  CHECK(documents_of_text(text, blank_line) == Documents{" a|b", "c", "d"});
  CHECK(documents_of_text(text, two_blank_lines) == Documents{" a|b||c", "d"});
  CHECK(documents_of_text(text, line) == Documents{" a", "b", "c", "d"});
  CHECK(documents_of_text(text, file) == Documents{" a|b||c|||d"});
  CHECK(documents_of_text("\xef\xbb\xbfmarked", line) == Documents{"marked"});
}

TEST_CASE("An endless line comes in parts that lose nothing and cut no character") {
  std::string text = "x";  // so that the limit falls inside a character
  for (int i = 0; i < 700'000; ++i) text += i % 3 == 0 ? "ä" : "€";
  struct Parts : CorpusSink {
    std::vector<std::string> parts;
    void line(std::string_view part) override { parts.emplace_back(part); }
    void part(std::string_view part) override { parts.emplace_back(part); }
    void end_document() override {}
  } sink;
  const TemporaryFolder folder;
  write_text(folder.path / "text", text);
  read_corpus({.inputs = {folder.path / "text"}}, sink);
  REQUIRE(sink.parts.size() == 2);
  CHECK(sink.parts[0] + sink.parts[1] == text);
  CHECK(sink.parts[0].size() <= 1 << 20);
  CHECK((static_cast<unsigned char>(sink.parts[1][0]) & 0xc0) == 0xc0);
}

TEST_CASE("A line that is cut where it ends is no blank line, and none is longer than a mebibyte") {
  // Blocks of a quarter of it are read.
  const std::string line(1 << 20, 'a');
  const auto blank_line = DocumentSeparator::blank_line;
  CHECK(documents_of_text(line + "\nb\n", blank_line) == Documents{line + "||b"});
  CHECK(documents_of_text(line + "\nb\n", DocumentSeparator::line) == Documents{line + "|", "b"});
  CHECK(documents_of_text(line + "cc\nb\n", blank_line) == Documents{line + "|cc|b"});
  // As text of bytes it is what it was, and spaces in its middle are no blank line.
  struct Bytes : CorpusSink {
    std::string bytes;
    int documents = 0;
    void line(std::string_view text) override { bytes.append(text) += '\n'; }
    void part(std::string_view text) override { bytes += text; }
    void end_document() override { ++documents; }
  } sink;
  const TemporaryFolder folder;
  const std::string text = "abc" + std::string(3 << 20, ' ') + "def\n" + line + "\nb\n";
  write_text(folder.path / "text", text);
  read_corpus({.inputs = {folder.path / "text"}}, sink);
  CHECK(sink.documents == 1);
  CHECK(sink.bytes == text);
}

TEST_CASE("Compressed files and archives are read as the text inside") {
  const Documents wanted{"first document|second line", "another document"};
  for (const char* const ending : {"gz", "bz2", "xz", "zst"}) {
    CAPTURE(ending);
    CHECK(documents_of({.inputs = {kFixtures / (std::string("compressed.txt.") + ending)}}) ==
          wanted);
  }
  const Documents both{wanted[0], wanted[1], "third, in a second file"};
  for (const char* const name : {"members.txt.gz", "archive.tar.gz", "archive.zip"}) {
    CAPTURE(name);
    CHECK(documents_of({.inputs = {kFixtures / name}}) == both);
  }
}

TEST_CASE(
    "A flipped bit in a compressed file is an error that names the file, or changes nothing") {
  const TemporaryFolder folder;
  // A time, a system or a flag may be flipped in the headers; no letter of the text.
  for (const char* name : {"compressed.txt.gz", "members.txt.gz", "archive.tar.gz", "archive.zip",
                           "compressed.txt.bz2", "compressed.txt.xz", "compressed.txt.zst"}) {
    const CorpusOptions whole{.inputs = {kFixtures / name}};
    const Documents wanted = documents_of(whole);
    const std::string good = read_file(kFixtures / name);
    const CorpusOptions options{.inputs = {folder.path / name}};
    int found = 0;
    for (std::size_t byte = 0; byte < good.size(); ++byte) {
      for (const int bit : {0, 3, 7}) {
        std::string bad = good;
        bad[byte] = static_cast<char>(bad[byte] ^ (1 << bit));
        write_text(folder.path / name, bad);
        Documents read;
        try {
          read = documents_of(options);
        } catch (const Error& error) {
          CHECK(std::string(error.what()).starts_with((folder.path / name).string()));
          ++found;
          continue;
        }
        CAPTURE(name, byte, bit);
        CHECK(read == wanted);
      }
    }
    CHECK(found > 0);
  }
}

TEST_CASE("A file in an archive keeps its name, whatever its letters") {
  const std::filesystem::path file = kFixtures / "names.zip";
  CHECK(documents_of({.inputs = {file}}) == Documents{"eine Zeile", "une note"});
  CHECK(documents_of({.inputs = {file}, .include = {"*.md"}}) == Documents{"une note"});
  CHECK(documents_of({.inputs = {file}, .include = {"größe*"}}) == Documents{"eine Zeile"});
}

TEST_CASE("A damaged archive is an error that names the entry") {
  const TemporaryFolder folder;
  std::string bad = read_file(kFixtures / "archive.zip");
  bad[30 + 5 + 12] = static_cast<char>(bad[30 + 5 + 12] ^ 1);  // in the data of a.txt
  write_text(folder.path / "bad.zip", bad);
  CHECK(complaint({.inputs = {folder.path / "bad.zip"}})
            .starts_with((folder.path / "bad.zip:a.txt").string() + ": cannot read: "));
  const std::string gzip = read_file(kFixtures / "compressed.txt.gz");
  write_text(folder.path / "padded.gz", gzip + std::string(500, '\0'));
  CHECK(documents_of({.inputs = {folder.path / "padded.gz"}}) ==
        documents_of({.inputs = {kFixtures / "compressed.txt.gz"}}));
  write_text(folder.path / "more.gz", gzip + "more");
  CHECK(complaint({.inputs = {folder.path / "more.gz"}}) ==
        (folder.path / "more.gz").string() +
            ": cannot read: the compressed data are damaged: something else after their end");
}

TEST_CASE("A folder is its files in order, without hidden ones") {
  const TemporaryFolder folder;
  write_text(folder.path / "b.txt", "two");
  write_text(folder.path / "a" / "z.txt", "one");
  write_text(folder.path / "c.txt", "three");
  write_text(folder.path / ".hidden", "no");
  write_text(folder.path / ".git" / "x", "no");
  write_text(folder.path / "c.txt~", "no");
  CHECK(documents_of({.inputs = {folder.path}}) == Documents{"one", "two", "three"});
}

TEST_CASE("Links out of a folder are followed where that is asked for, in circles once") {
  const TemporaryFolder folder;
  write_text(folder.path / "corpus" / "a.txt", "one");
  write_text(folder.path / "elsewhere" / "deep" / "b.txt", "two");
  write_text(folder.path / "secret", "a key");
  namespace fs = std::filesystem;
  fs::create_symlink("../elsewhere", folder.path / "corpus" / "b");
  fs::create_symlink("../corpus", folder.path / "elsewhere" / "circle");
  fs::create_symlink(".", folder.path / "corpus" / "self");
  fs::create_symlink("nowhere", folder.path / "corpus" / "dangling");
  fs::create_symlink("../secret", folder.path / "corpus" / "c.txt");
  fs::create_symlink("../elsewhere/deep/b.txt", folder.path / "corpus" / "d.txt");
  CorpusOptions options{.inputs = {folder.path / "corpus"}};
  std::uint64_t skipped = 0;
  Documents documents;
  const std::string words = said([&] {
    CHECK(list_corpus_files(options, &skipped).size() == 1);
    documents = documents_of(options);
  });
  CHECK(documents == Documents{"one"});
  CHECK(skipped == 5);
  const std::string line =
      "3 links out of the folder are left out: b, c.txt, d.txt (--follow-links";
  CHECK(has(words, line));
  CHECK(words.find(line) == words.rfind(line));  // told once

  options.follow_links = true;
  skipped = 0;
  CHECK(list_corpus_files(options, &skipped).size() == 3);
  CHECK(skipped == 4);  // to nothing, twice to the folder itself, and a file that is d.txt by now
  CHECK(documents_of(options) == Documents{"one", "a key", "two"});

  fs::remove(folder.path / "corpus" / "a.txt");
  options.follow_links = false;
  CHECK(complaint(options) == (folder.path / "corpus").string() +
                                  ": is a folder without files (hint: 3 links out of it: "
                                  "--follow-links follows them)");
}

TEST_CASE("Links inside a folder add what is not read under its own name") {
  const TemporaryFolder folder;
  namespace fs = std::filesystem;
  write_text(folder.path / "a.txt", "one");
  write_text(folder.path / "year" / "b.txt", "two");
  write_text(folder.path / ".store" / "x", "three");
  fs::create_symlink("a.txt", folder.path / "again.txt");
  fs::create_symlink("year", folder.path / "latest");
  fs::create_symlink(".store/x", folder.path / "c.txt");
  fs::create_symlink("../.store/x", folder.path / "year" / "c.txt");
  fs::create_symlink(folder.path, folder.path / "year" / "up");
  std::uint64_t skipped = 0;
  const CorpusOptions options{.inputs = {folder.path}};
  CHECK(list_corpus_files(options, &skipped) ==
        std::vector<fs::path>{folder.path / "a.txt", folder.path / "c.txt",
                              folder.path / "year" / "b.txt"});
  CHECK(skipped == 4);
  CHECK(documents_of(options) == Documents{"one", "three", "two"});
  // The folder that is named may be a link itself.
  const TemporaryFolder elsewhere;
  fs::create_symlink(folder.path, elsewhere.path / "corpus");
  CHECK(documents_of({.inputs = {elsewhere.path / "corpus"}}).size() == 3);
}

TEST_CASE("Repeated lines are left out across documents and files") {
  const TemporaryFolder folder;
  write_text(folder.path / "a", "x\ny\n\nx\n\ny\nz\n");
  write_text(folder.path / "b", "z\n\nw\n");
  CollectingSink sink;
  const CorpusCounts counts = read_corpus({.inputs = {folder.path}, .remove_repeats = true}, sink);
  CHECK(sink.documents == Documents{"x|y", "z", "w"});
  CHECK(counts.repeats == 3);
  CHECK(counts.documents == 3);
  CHECK(counts.files == 2);
}

TEST_CASE("Of a folder or an archive only the files that are asked for are read") {
  const TemporaryFolder folder;
  write_text(folder.path / "b.txt", "two");
  write_text(folder.path / "a" / "z.txt", "one");
  write_text(folder.path / "c.html", "no");
  CollectingSink sink;
  const CorpusCounts counts = read_corpus({.inputs = {folder.path}, .include = {"*.txt"}}, sink);
  CHECK(sink.documents == Documents{"one", "two"});
  CHECK(counts.files == 2);
  CHECK(counts.skipped == 1);
  CHECK(documents_of({.inputs = {folder.path}, .include = {"b.*", "c.*"}}) ==
        Documents{"two", "no"});
  CHECK(complaint({.inputs = {folder.path}, .include = {"*.md"}}) ==
        folder.path.string() + ": is a folder without *.md");
  CHECK(documents_of({.inputs = {kFixtures / "archive.zip"}, .include = {"a*"}}).size() == 2);
  CHECK(has(complaint({.inputs = {kFixtures / "archive.zip"}, .include = {"*.md"}}),
            "archive.zip: holds no file that fits --include *.md"));
}

TEST_CASE("Files that are no text stop the reading, or are left out and counted") {
  const TemporaryFolder folder;
  write_text(folder.path / "a.txt", "one");
  write_text(folder.path / "b.pdf", std::string("%PDF\0\0", 6));
  write_text(folder.path / "c.txt", "two");
  CHECK(has(complaint({.inputs = {folder.path}}), "or leave it out: --skip-binary"));
  CHECK_FALSE(has(complaint({.inputs = {folder.path / "b.pdf"}}), "--skip-binary"));
  CollectingSink sink;
  CorpusCounts counts;
  const std::string words =
      said([&] { counts = read_corpus({.inputs = {folder.path}, .skip_binary = true}, sink); });
  CHECK(sink.documents == Documents{"one", "two"});
  CHECK(counts.files == 2);
  CHECK(counts.skipped == 1);
  CHECK(has(words, "b.pdf: is no text: a NUL byte at offset 4; it is left out"));
}

TEST_CASE("Standard input is a corpus") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  REQUIRE(::write(ends[1], "piped\n", 6) == 6);
  ::close(ends[1]);
  const int saved = ::dup(STDIN_FILENO);
  ::dup2(ends[0], STDIN_FILENO);
  const Documents documents = documents_of({.inputs = {"-"}});
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  ::close(ends[0]);
  CHECK(documents == Documents{"piped"});
}

TEST_CASE("A corpus that cannot be used is refused in one line") {
  const TemporaryFolder folder;
  const auto path = [&](const char* name) { return folder.path / name; };
  write_text(path("empty"), "");
  write_text(path("blank"), " \n\n");
  write_text(path("binary"), std::string("\x7f"
                                         "ELF\0\1",
                                         6));
  write_text(path("utf16"), std::string("\xff\xfe"
                                        "a\0",
                                        4));
  std::string truncated = read_file(kFixtures / "compressed.txt.gz");
  truncated.resize(truncated.size() - 12);
  write_text(path("truncated.gz"), truncated);
  std::filesystem::create_directory(path("folder"));
  const std::string begin = folder.path.string() + "/";
  CHECK(complaint({.inputs = {path("empty")}}) ==
        begin + "empty: holds no text: it is empty or blank");
  CHECK(complaint({.inputs = {path("blank")}}) ==
        begin + "blank: holds no text: it is empty or blank");
  CHECK(complaint({.inputs = {path("missing")}}) ==
        begin + "missing: cannot read: No such file or directory");
  CHECK(complaint({.inputs = {path("folder")}}) == begin + "folder: is a folder without files");
  CHECK(complaint({.inputs = {path("binary")}})
            .starts_with(begin + "binary: is no text: a NUL byte at offset 4 (hint: "));
  CHECK(complaint({.inputs = {path("utf16")}}).starts_with(begin + "utf16: is UTF-16 text"));
  CHECK(complaint({.inputs = {path("truncated.gz")}})
            .starts_with(begin + "truncated.gz: cannot read: "));
  CHECK_THROWS_WITH(parse_document_separator("blank"),
                    "document separator: 'blank' is not known (known: blank-line, "
                    "two-blank-lines, line, file)");
}
