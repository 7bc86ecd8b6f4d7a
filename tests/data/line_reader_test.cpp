// Lines as users hand them in: compressed, UTF-16, malformed, from files, files and pipes.
#include "data/line_reader.h"

#include <cstdlib>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "fixture.h"
#include "given_input.h"
#include "has.h"
#include "message_of.h"
#include "said.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;
using namespace std::string_literals;
using Lines = std::vector<std::string>;

namespace {

Lines lines_of(LineReader& reader) {
  Lines lines;
  for (std::string_view line; reader.next_text(line);) lines.emplace_back(line);
  return lines;
}

Lines lines_of(const fs::path& file) {
  LineReader reader(file);
  return lines_of(reader);
}

// "h\0i\0\n\0": little-endian, without a mark.
std::string utf16(std::string_view ascii, bool big = false) {
  std::string bytes;
  for (const char c : ascii) bytes += big ? std::string{'\0', c} : std::string{c, '\0'};
  return bytes;
}

}  // namespace

TEST_CASE("lines are the same of every file that holds their text") {
  const TemporaryFolder folder;
  const fs::path plain = folder.path / "plain";
  const std::string text = "one\n\ntwo three\nfour";
  const Lines wanted{"one", "", "two three", "four"};
  write_text(plain, text);
  CHECK(lines_of(plain) == wanted);
  write_text(folder.path / "mark", "\xef\xbb\xbfone\r\n\r\ntwo three\r\nfour\r\n");
  CHECK(lines_of(folder.path / "mark") == wanted);
  write_text(folder.path / "little", "\xff\xfe" + utf16(text));
  CHECK(lines_of(folder.path / "little") == wanted);
  write_text(folder.path / "big", "\xfe\xff" + utf16(text, true));
  CHECK(lines_of(folder.path / "big") == wanted);
  for (const char* const program : {"gzip", "bzip2", "xz", "zstd -q"}) {
    for (const char* const name : {"plain", "little"}) {
      CAPTURE(program, name);
      const std::string file = (folder.path / name).string();
      REQUIRE(std::system((program + " -c "s + file + " > " + file + ".packed").c_str()) == 0);
      CHECK(lines_of(file + ".packed") == wanted);
      const GivenInput input(read_file(file + ".packed"));
      CHECK(lines_of("-") == wanted);
    }
  }
  for (const char* const name : {"plain", "mark", "little", "big"}) {
    const GivenInput input(read_file(folder.path / name));
    CHECK(lines_of("-") == wanted);
  }
}

TEST_CASE("malformed text becomes U+FFFD and is counted where lines are wanted as text") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a";
  write_text(file,
             "a\xff\xff"
             "b\nc\xc3\n");
  LineReader reader(file);
  CHECK(lines_of(reader) == Lines{"a\xef\xbf\xbd\xef\xbf\xbd"
                                  "b",
                                  "c\xef\xbf\xbd"});
  CHECK(reader.replaced() == 3);
  CHECK(has(said([&] { reader.warn_of_replaced(); }),
            file.string() + ": 3 malformed UTF-8 sequences became U+FFFD"));
  LineReader raw(file);
  std::string_view line;
  REQUIRE(raw.next(line));
  CHECK(line ==
        "a\xff\xff"
        "b");
  CHECK(raw.replaced() == 0);
  write_text(file, "\xff\xfe\x3d\xd8" + utf16("a\n"));
  LineReader half(file);
  CHECK(lines_of(half) == Lines{"\xef\xbf\xbd"
                                "a"});
  CHECK(half.replaced() == 1);
}

TEST_CASE("what is no text is refused as a corpus refuses it") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a";
  for (const bool big : {false, true}) {
    write_text(file, utf16("house\ntree\n", big));
    const std::string wanted = fmt::format(": is no text: a NUL byte at offset {}", big ? 0 : 1);
    CHECK(message_of([&] { lines_of(file); }).starts_with(file.string() + wanted));
    const GivenInput input(read_file(file));
    CHECK(message_of([] { lines_of("-"); }).starts_with("standard input" + wanted));
  }
  // Later than in the first block of a pipe.
  InputPipe pipe;
  REQUIRE(pipe.write("a\n"));
  LineReader reader("-");
  std::string_view line;
  REQUIRE(reader.next(line));
  REQUIRE(pipe.write("b\0\n"s));
  CHECK(has(message_of([&] { reader.next(line); }), "a NUL byte at offset 3"));
  // A byte that is a mark only at a file's begin.
  write_text(file, "a\n\xff\xfe\n");
  CHECK(lines_of(file).size() == 2);
  CHECK(has(message_of([&] { lines_of(folder.path); }), "is a directory"));
  CHECK(has(message_of([&] { lines_of(folder.path / "none"); }), "cannot read: No such file"));
}

TEST_CASE("a line of a pipe is there when it was written, and the input's end is met once") {
  InputPipe pipe;
  LineReader reader("-");
  std::string_view line;
  for (const std::string text : {"B\n", "BZ\n", "\x1f\n", "four\n"}) {
    REQUIRE(pipe.write(text));
    REQUIRE(reader.next(line));
    CHECK(line == text.substr(0, text.size() - 1));
    CHECK(reader.may_wait());
  }
  REQUIRE(pipe.write("x\ny\nz"));
  REQUIRE(reader.next(line));
  CHECK(line == "x");
  CHECK_FALSE(reader.may_wait());
  pipe.end();
  REQUIRE(reader.next(line));
  REQUIRE(reader.next(line));
  CHECK(line == "z");
  CHECK(reader.number() == 7);
  CHECK_FALSE(reader.next(line));
  CHECK_FALSE(reader.next(line));
}

TEST_CASE("a compressed pipe is unpacked, and standard input is read from where it is") {
  {
    InputPipe pipe;
    REQUIRE(pipe.write(read_file(fs::path(FIXTURES) / "compressed.txt.zst")));
    pipe.end();
    CHECK(lines_of("-") == lines_of(fs::path(FIXTURES) / "compressed.txt.zst"));
  }
  const GivenInput input("first\nsecond\n");
  char byte = 0;
  for (int i = 0; i < 6; ++i) REQUIRE(::read(STDIN_FILENO, &byte, 1) == 1);
  CHECK(lines_of("-") == Lines{"second"});
  CHECK(lines_of("-").empty());
}

TEST_CASE("a line is cut where the caller says, and files of an archive follow each other") {
  const TemporaryFolder folder;
  write_text(folder.path / "long", std::string(3 << 20, 'x') + "\nshort\n");
  LineReader cut(folder.path / "long"), whole(folder.path / "long", LineReader::kAnyLength);
  std::string_view line;
  REQUIRE(cut.next(line));
  CHECK(line.size() == LineReader::kLongestLine);
  CHECK(has(message_of([&] { cut.require_whole(); }), "long:1: is longer than 1048576 bytes"));
  REQUIRE(whole.next(line));
  CHECK(line.size() == 3 << 20);
  whole.require_whole();
  LineReader archive(fs::path(FIXTURES) / "archive.tar.gz");
  lines_of(archive);
  CHECK(archive.files() > 1);
}
