#include "data/shard.h"

#include <xxhash.h>

#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "catch.h"
#include "fixture.h"
#include "temporary_folder.h"

using namespace roformer;
namespace fs = std::filesystem;

namespace {

// Three documents of 1, 2 and 4 tokens.
void write_sample(const fs::path& path, std::uint64_t vocabulary) {
  const auto last = static_cast<TokenId>(vocabulary - 1);
  ShardWriter writer(path, {.size = vocabulary, .fingerprint = 0x1234567890abcdef});
  writer.add_tokens(std::vector<TokenId>{last});
  writer.end_document();
  writer.add_tokens(std::vector<TokenId>{0});
  writer.add_tokens(std::vector<TokenId>{1});
  writer.end_document();
  writer.add_tokens(std::vector<TokenId>{2, 3, last, 5});
  writer.end_document();
  writer.finish();
}

// The file with `bytes` at `offset` replaced, its header checksum made right again.
std::string forged(std::string file, std::size_t offset, const auto& value) {
  std::memcpy(file.data() + offset, &value, sizeof value);
  const std::uint64_t checksum = XXH3_64bits(file.data(), 56);
  std::memcpy(file.data() + 56, &checksum, sizeof checksum);
  return file;
}

std::string complaint(const fs::path& path, std::string_view contents) {
  write_text(path, contents);
  try {
    const Shard shard(path);
  } catch (const Error& error) {
    REQUIRE(std::string(error.what()).starts_with(path.string() + ": "));
    return error.parts().message;
  }
  return "";
}

}  // namespace

TEST_CASE("A shard gives back its documents at both widths") {
  const TemporaryFolder folder;
  for (const std::uint64_t vocabulary : {std::uint64_t{65536}, std::uint64_t{65537}}) {
    CAPTURE(vocabulary);
    const fs::path path = folder.path / "shard.bin";
    write_sample(path, vocabulary);
    CHECK(fs::file_size(path) == (vocabulary == 65536 ? 64 + 16 + 32 : 64 + 32 + 32));
    const Shard shard(path);
    CHECK(shard.tokens() == 7);
    CHECK(shard.documents() == 3);
    CHECK(shard.vocabulary().size == vocabulary);
    CHECK(shard.vocabulary().fingerprint == 0x1234567890abcdef);
    CHECK(std::vector<std::uint64_t>(shard.document_starts().begin(),
                                     shard.document_starts().end()) ==
          std::vector<std::uint64_t>{0, 1, 3, 7});
    std::vector<TokenId> ids(5);
    shard.copy_tokens(2, ids);
    CHECK(ids == std::vector<TokenId>{1, 2, 3, static_cast<TokenId>(vocabulary - 1), 5});
    shard.verify_checksum();
  }
}

TEST_CASE("A writer that is given up leaves no file") {
  const TemporaryFolder folder;
  {
    ShardWriter writer(folder.path / "shard.bin", {.size = 10, .fingerprint = 1});
    writer.add_tokens(std::vector<TokenId>{1, 2});
  }
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("A shard cut anywhere, or longer, is refused") {
  const TemporaryFolder folder;
  write_sample(folder.path / "good", 300);
  const std::string good = read_file(folder.path / "good");
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    CHECK(complaint(folder.path / "cut", good.substr(0, size)) != "");
  }
  CHECK(complaint(folder.path / "cut", good.substr(0, 100)) ==
        "is truncated: 100 bytes, wanted 112");
  CHECK(complaint(folder.path / "cut", good + "x") ==
        "has bytes after its end: 113 bytes, wanted 112");
  CHECK(complaint(folder.path / "cut", good) == "");
}

TEST_CASE("Each field of the header is checked, with and without its checksum") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "bad";
  write_sample(folder.path / "good", 300);
  const std::string good = read_file(folder.path / "good");
  for (std::size_t place = 0; place < 64; ++place) {  // any flipped bit
    CAPTURE(place);
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 4);
    CHECK(complaint(path, bad) != "");
  }
  const auto says = [&](std::size_t offset, const auto& value) {
    return complaint(path, forged(good, offset, value));
  };
  CHECK(says(0, 'X') == "is not a token shard of this program");
  CHECK(says(8, std::uint32_t{2}) == "has version 2, this program reads version 1");
  CHECK(says(12, std::uint32_t{4}) == "claims 4 bytes an id, wanted 2 for a vocabulary of 300");
  CHECK(says(12, std::uint32_t{0}) == "claims 0 bytes an id, wanted 2 for a vocabulary of 300");
  CHECK(says(16, std::uint64_t{0}) == "claims a vocabulary of 0 entries");
  CHECK(says(16, ~std::uint64_t{0}) == "claims a vocabulary of 18446744073709551615 entries");
  const std::string many = "is truncated: 112 bytes cannot hold the ";
  CHECK(says(24, ~std::uint64_t{0}).starts_with(many));
  CHECK(says(24, std::uint64_t{1} << 63).starts_with(many));
  CHECK(says(24, std::uint64_t{9}).starts_with("is truncated"));
  CHECK(says(24, std::uint64_t{8}) ==
        "is damaged: its document index does not rise from 0 to the token count");
  CHECK(says(32, ~std::uint64_t{0}).starts_with(many));
  CHECK(says(32, std::uint64_t{1} << 61).starts_with(many));
  CHECK(says(32, std::uint64_t{4}).starts_with("is truncated"));
  CHECK(says(32, std::uint64_t{2}).starts_with("has bytes after its end"));
}

TEST_CASE("A damaged payload is found by the checksum, and ids outside the vocabulary at once") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "bad";
  write_sample(folder.path / "good", 300);
  const std::string good = read_file(folder.path / "good");
  for (std::size_t place = 64; place < good.size(); ++place) {
    CAPTURE(place);
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 1);
    if (complaint(path, bad) != "") continue;  // the index
    CHECK_THROWS_AS(Shard(path).verify_checksum(), Error);
  }
  std::string bad = good;
  bad[65] = '\x7f';
  write_text(path, bad);
  std::vector<TokenId> ids(1);
  CHECK_THROWS_AS(Shard(path).copy_tokens(0, ids), Error);
}
