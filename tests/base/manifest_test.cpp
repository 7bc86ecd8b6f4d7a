#include "base/checksums.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "has.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

void flip(const fs::path& file, std::size_t byte, char bit = 1) {
  std::string contents = read_file(file);
  contents.at(byte) = static_cast<char>(contents.at(byte) ^ bit);
  write_file_atomically(file, contents);
}

}  // namespace

TEST_CASE("a manifest finds the block of a file that is not what was written") {
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path;
  write_file_atomically(folder / "large", std::string(700'000, 'x'));
  write_file_atomically(folder / "small", "abc");
  write_file_atomically(folder / "empty", "");
  fs::create_directory(folder / "source");
  write_file_atomically(folder / "source" / "pieces", "abc");
  Manifest::of(folder).write();
  const std::optional<Manifest> manifest = Manifest::read(folder);
  REQUIRE(manifest);
  CHECK(manifest->names() == std::vector<std::string>{"empty", "large", "small", "source/pieces"});
  for (const std::string& name : manifest->names()) CHECK_FALSE(manifest->check(name));
  CHECK_FALSE(manifest->check("another"));

  flip(folder / "source" / "pieces", 1);
  REQUIRE(manifest->check("source/pieces"));
  CHECK(manifest->check("source/pieces")->file == folder / "source" / "pieces");
  flip(folder / "large", 600'000);
  const std::optional<Damage> damage = manifest->check("large");
  REQUIRE(damage);
  CHECK(damage->file == folder / "large");
  CHECK(damage->begin == 524'288);
  CHECK(damage->end == 700'000);
  CHECK(damage->message == "is damaged: bytes 524288 to 699999 are not what was written");
  flip(folder / "large", 600'000);
  CHECK_FALSE(manifest->check("large"));

  write_file_atomically(folder / "small", "ab");
  CHECK(manifest->check("small")->message == "has 2 bytes, 3 were written");
  // Nothing of a size that was not written is read.
  fs::resize_file(folder / "small", std::uintmax_t{1} << 36);
  CHECK(manifest->check("small")->message == "has 68719476736 bytes, 3 were written");
  fs::remove(folder / "small");
  CHECK(manifest->check("small")->message == "is not there");
}

TEST_CASE("a manifest whose own bytes are flipped is refused or says the same") {
  const TemporaryFolder temporary;
  const fs::path& folder = temporary.path;
  write_file_atomically(folder / "file", "some contents");
  Manifest::of(folder).write();
  const std::string whole = read_file(folder / "manifest.json");
  int refused = 0;
  for (std::size_t byte = 0; byte < whole.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[byte] = static_cast<char>(changed[byte] ^ (1 << bit));
      write_file_atomically(folder / "manifest.json", changed);
      try {
        const std::optional<Manifest> manifest = Manifest::read(folder);
        CAPTURE(byte, bit, changed);
        CHECK(manifest->names() == std::vector<std::string>{"file"});
        CHECK_FALSE(manifest->check("file"));
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  CHECK(refused > static_cast<int>(whole.size()) * 4);
}

TEST_CASE("a manifest names no file outside its folder") {
  const TemporaryFolder temporary;
  for (const char* name :
       {"../file", "/etc/passwd", "..", ".", "", "a/../../b", "a/..", "a/", "./a", "a//b"}) {
    write_checksummed_json(temporary.path / "manifest.json",
                      {{"format", "roformer manifest"},
                       {"version", 1},
                       {"block_bytes", 1 << 18},
                       {"files", {{name, {{"bytes", 0}, {"xxh3", nlohmann::json::array()}}}}}});
    CHECK_THROWS_AS(Manifest::read(temporary.path), Error);
  }
  // Nor more blocks than it lists.
  write_checksummed_json(
      temporary.path / "manifest.json",
      {{"format", "roformer manifest"},
       {"version", 1},
       {"block_bytes", 1 << 18},
       {"files",
        {{"file", {{"bytes", std::uint64_t{1} << 60}, {"xxh3", nlohmann::json::array()}}}}}});
  CHECK_THROWS_AS(Manifest::read(temporary.path), Error);
}

TEST_CASE("a sealed file is read in any layout, and not with another value") {
  const TemporaryFolder temporary;
  const fs::path file = temporary.path / "file.json";
  const nlohmann::ordered_json object = {
      {"z", 1e-5}, {"a", {1, 2.5, "x"}}, {"nothing", std::nan("")}, {"path", "a\xff"}};
  write_checksummed_json(file, object);
  const nlohmann::json read = read_checksummed_json(file);
  CHECK(read["z"] == 1e-5);
  CHECK(read["nothing"].is_null());
  CHECK(read.size() == 4);
  write_file_atomically(file, nlohmann::json::parse(read_file(file)).dump());
  CHECK(read_checksummed_json(file) == read);
  nlohmann::json changed = nlohmann::json::parse(read_file(file));
  changed["z"] = 1e-4;
  write_file_atomically(file, changed.dump());
  CHECK_THROWS_WITH(read_checksummed_json(file),
                    file.string() + ": is damaged: its contents do not fit their checksum");
  changed.erase("checksum");
  write_file_atomically(file, changed.dump());
  CHECK(read_checksummed_json(file)["z"] == 1e-4);
}
