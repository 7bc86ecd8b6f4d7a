// What is damaged, cut or joined is read whole or refused, and never in part without a word.
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "data/codec.h"
#include "data/corpus.h"
#include "data/zip.h"
#include "fixture.h"
#include "has.h"
#include "packing.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

using Texts = std::vector<std::string>;

Texts documents(int from, int to) {
  Texts result;
  for (int i = from; i < to; ++i) result.push_back(fmt::format("line {} of a text", i));
  return result;
}

std::string text_of(const Texts& documents) {
  return fmt::format("{}\n\n", fmt::join(documents, "\n\n"));
}

struct Reading {
  Texts documents;
  std::string problem;  // "" where it was read
};

// Of one file with these bytes.
class Reader {
 public:
  Reading operator()(const std::string& name, std::string_view bytes) const {
    write_text(folder_.path / name, bytes);
    Reading reading;
    try {
      reading.documents = documents_of({.inputs = {folder_.path / name}});
    } catch (const Error& error) {
      reading.problem = error.what();
      CHECK(reading.problem.starts_with((folder_.path / name).string()));
    }
    return reading;
  }

 private:
  TemporaryFolder folder_;
};

std::string flipped(std::string bytes, std::size_t byte, int bit) {
  bytes[byte] = static_cast<char>(bytes[byte] ^ (1 << bit));
  return bytes;
}

// Refused, or as if nothing was damaged.
bool is_safe(const Reading& reading, const Texts& wanted) {
  return !reading.problem.empty() || reading.documents == wanted;
}

Members zip_members() {
  return {{"texts/a.txt", text_of(documents(0, 40))},
          {"texts/b.txt", text_of(documents(40, 80))},
          {"c.txt", text_of(documents(80, 100))}};
}

std::string zip_of(const Members& members) {
  const TemporaryFolder folder;
  std::vector<ZipMember> files;
  for (const auto& [name, contents] : members) files.push_back({name, contents});
  write_zip(folder.path / "x.zip", files);
  const std::string zip = read_file(folder.path / "x.zip");
  return zip.substr(0, zip.rfind("PK\5\6") + 22);  // without the zeros that fill up a block
}

}  // namespace

TEST_CASE("Streams one after the other are one text, and damage to any is an error") {
  const Reader read;
  const Texts wanted = documents(0, 1000);
  for (const Packing& packing : kPackings) {
    const std::string name = std::string("corpus.") + packing.ending;
    Texts parts;
    std::string whole;
    for (int i = 0; i < 10; ++i) {
      parts.push_back(packing.pack(text_of(documents(100 * i, 100 * i + 100))));
      whole += parts.back();
    }
    CAPTURE(name);
    CHECK(read(name, whole).documents == wanted);
    CHECK(read(name, whole + std::string(700, '\0')).documents == wanted);
    CHECK(has(read(name, whole + "\nmore").problem, "something else after their end"));
    CHECK(has(read(name, whole.substr(0, whole.size() - 3)).problem, "truncated"));
    // In the fourth stream, every byte of its ends and some between.
    const std::size_t begin = parts[0].size() + parts[1].size() + parts[2].size();
    const std::size_t size = parts[3].size();
    for (std::size_t byte = 0; byte < size; byte += byte < 24 || byte + 24 > size ? 1 : 11) {
      for (int bit = 0; bit < 8; ++bit) {
        CAPTURE(byte, bit);
        CHECK(is_safe(read(name, flipped(whole, begin + byte, bit)), wanted));
      }
    }
  }
}

TEST_CASE("A file that begins wrongly is not taken for text") {
  const Reader read;
  const std::string text = text_of(documents(0, 200));
  const std::string tar = tar_of({{"a.txt", text}});
  for (const Packing& packing : kPackings) {
    const std::string ending = packing.ending;
    CAPTURE(ending);
    const std::string packed = packing.pack(text);
    for (int bit = 0; bit < 8; ++bit) {
      const std::string bad = flipped(packed, 0, bit);
      CHECK(has(read("corpus." + ending, bad).problem, "is damaged at its beginning"));
      CHECK(has(read("corpus", bad).problem, "is no text"));
    }
    CHECK(has(read("corpus.tar." + ending, packing.pack(flipped(tar, 3, 0))).problem,
              "is damaged at its beginning: neither the archive"));
    // What somebody unpacked and did not rename is text.
    CHECK(read("corpus." + ending, "ein Wörterbuch\n").documents == Texts{"ein Wörterbuch"});
  }
  CHECK(has(read("corpus.tar", flipped(tar, 3, 0)).problem, "is damaged at its beginning"));
}

TEST_CASE("A tar is read whole, also where two were joined, or refused") {
  const Reader read;
  const Members members = {{"a.txt", text_of(documents(0, 60))},
                           {"b.txt", text_of(documents(60, 70))},
                           {"c.txt", text_of(documents(70, 100))}};
  const std::string tar = tar_of(members);
  const Texts wanted = documents(0, 100);
  CHECK(read("a.tar", tar).documents == wanted);
  CHECK(read("a.tar", tar + std::string(20 * 512, '\0')).documents == wanted);
  const std::string more = tar_of({{"d.txt", text_of(documents(100, 120))}});
  CHECK(read("two.tar", tar + more).documents == documents(0, 120));
  CHECK(read("two.tar.gz", gzipped(tar) + gzipped(more)).documents == documents(0, 120));
  CHECK(has(read("a.tar", tar + "more").problem, "Truncated tar archive"));
  CHECK(has(read("a.tar", tar + std::string(512, 'x')).problem, "Damaged tar archive"));

  const std::size_t second = tar_member("a.txt", members[0].second).size();
  const std::size_t third = second + tar_member("b.txt", members[1].second).size();
  CHECK(has(read("a.tar", tar.substr(0, third)).problem, "the archive is truncated"));
  CHECK(has(read("a.tar.xz", xzipped(tar.substr(0, third))).problem, "the archive is truncated"));
  std::string hole = tar;
  hole.replace(second, 512, std::string(512, '\0'));
  CHECK(has(read("a.tar", hole).problem, "Damaged tar archive"));
  for (std::size_t byte = 0; byte < 512; byte += byte < 300 ? 1 : 13) {
    for (const int bit : {0, 2, 6}) {
      CAPTURE(byte, bit);
      const std::string bad = flipped(tar, second + byte, bit);
      CHECK(has(read("a.tar", bad).problem, "Damaged tar archive"));
      if (bit == 0) CHECK(has(read("a.tar.bz2", bzipped(bad)).problem, "Damaged tar archive"));
    }
  }
}

TEST_CASE("A zip is read whole or refused, from a file and as a stream") {
  const Reader read;
  const std::string zip = zip_of(zip_members());
  const Texts wanted = documents(0, 100);
  CHECK(read("a.zip", zip).documents == wanted);
  CHECK(read("a.zip.gz", gzipped(zip)).documents == wanted);
  const std::string joined = zip + zip_of({{"d.txt", text_of(documents(100, 120))}});
  CHECK(has(read("a.zip", joined).problem, "before the archive are no part of it"));
  CHECK(has(read("a.zip.gz", gzipped(joined)).problem, "before the archive are no part of it"));
  CHECK(!read("a.zip", zip + "more").problem.empty());
  CHECK(!read("a.zip.gz", gzipped(zip + "more")).problem.empty());
  for (std::size_t size = 30; size < zip.size(); size += 31) {
    CAPTURE(size);
    CHECK(!read("a.zip", zip.substr(0, size)).problem.empty());
    CHECK(!read("a.zip.gz", gzipped(zip.substr(0, size))).problem.empty());
  }
  for (std::size_t byte = 0; byte < zip.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      CAPTURE(byte, bit);
      const std::string bad = flipped(zip, byte, bit);
      CHECK(is_safe(read("a.zip", bad), wanted));
      // The same reader reads a copy.
      if (byte % 8 == static_cast<std::size_t>(bit)) {
        CHECK(is_safe(read("a.zip.gz", gzipped(bad)), wanted));
      }
    }
  }
}

TEST_CASE("Zeros at the beginning are no archive and no text") {
  const TemporaryFolder folder;
  write_text(folder.path / "a.txt", "text\n");
  write_text(folder.path / "disk", std::string(4096, '\0') + std::string(4096, 'x'));
  const Reader read;
  const std::string disk = std::string(4096, '\0') + std::string(4096, 'x');
  CHECK(has(read("disk", disk).problem, "is no text: a NUL byte at offset 0"));
  CHECK(documents_of({.inputs = {folder.path}, .skip_binary = true}) == Texts{"text"});
}

TEST_CASE("Windows of Zstandard are as long as it has them, where there is memory") {
  CHECK(codec_limits(0).zstd_window == 27);
  CHECK(codec_limits(std::uint64_t{1} << 31).zstd_window == 29);
  CHECK(codec_limits(std::uint64_t{1} << 40).zstd_window == 31);
  const std::string text = text_of(documents(0, 50));
  const std::string packed = zstandard(text, 28);
  const auto step = [&](int window) {
    const auto codec = codec_of(packed, CodecLimits{.zstd_window = window, .xz_memory = 0});
    REQUIRE(codec != nullptr);
    codec->begin();
    std::string output(1 << 16, '\0');
    CodecStep step = codec->step(packed, output);
    if (step.ended) CHECK(output.substr(0, step.made) == text);
    return step;
  };
  CHECK(step(28).ended);
  CHECK(step(27).problem == "its window is longer than 128 MiB");
  CHECK(step(27).command == "zstd -d --long=31");
  const auto xz = codec_of(xzipped(text), CodecLimits{.zstd_window = 27, .xz_memory = 1});
  REQUIRE(xz != nullptr);
  xz->begin();
  std::string output(1 << 16, '\0');
  CHECK(xz->step(xzipped(text), output).command == "xz -d -k");
}

TEST_CASE("A hard link of a tar whose text is not read elsewhere is no silent loss") {
  const TemporaryFolder folder;
  const fs::path file = folder.path / "a.tar";
  write_text(file, tar_member("a/novel.txt", "all of it\n") +
                       tar_member("b/keep.md", "", "a/novel.txt") +
                       tar_member("b/other.md", "more\n") + std::string(1024, '\0'));
  CHECK(documents_of({.inputs = {file}}) == Texts{"all of it", "more"});
  CHECK(documents_of({.inputs = {file}, .include = {"*.txt"}}) == Texts{"all of it"});
  CHECK_THROWS_WITH(documents_of({.inputs = {file}, .include = {"*.md"}}),
                    Catch::Contains("a.tar:b/keep.md: is a hard link to a/novel.txt"));
  CHECK_THROWS_WITH(documents_of({.inputs = {file}, .include = {"*.html"}}),
                    Catch::Contains("holds no file that fits --include *.html"));
}
