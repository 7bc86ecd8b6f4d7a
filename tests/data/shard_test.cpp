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
    CHECK(fs::file_size(path) == (vocabulary == 65536 ? 64 + 16 + 32 + 8 : 64 + 32 + 32 + 8));
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
        "is truncated: 100 bytes, wanted 120");
  CHECK(complaint(folder.path / "cut", good + "x") ==
        "has bytes after its end: 121 bytes, wanted 120");
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
  CHECK(says(8, std::uint32_t{3}) == "has version 3, this program reads versions 1 and 2");
  CHECK(says(12, std::uint32_t{4}) == "claims 4 bytes an id, wanted 2 for a vocabulary of 300");
  CHECK(says(12, std::uint32_t{0}) == "claims 0 bytes an id, wanted 2 for a vocabulary of 300");
  CHECK(says(16, std::uint64_t{0}) == "claims a vocabulary of 0 entries");
  CHECK(says(16, ~std::uint64_t{0}) == "claims a vocabulary of 18446744073709551615 entries");
  const std::string many = "is truncated: 120 bytes cannot hold the ";
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

TEST_CASE("A flipped bit anywhere in a small shard is found when it is opened") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "bad";
  write_sample(folder.path / "good", 300);
  const std::string good = read_file(folder.path / "good");
  for (std::size_t place = 64; place < good.size(); ++place) {
    CAPTURE(place);
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 1);
    CHECK(complaint(path, bad) ==
          (place < good.size() - 8
               ? "is damaged: block 1 of 1 (bytes 64 to 111 of the file) does not fit its checksum"
               : "is damaged: the checksums of its blocks do not fit theirs"));
  }
}

namespace {

// The same shard as version 1 wrote it.
std::string without_blocks(const std::string& file, std::size_t blocks) {
  std::string old = file.substr(0, file.size() - 8 * blocks);
  const std::uint64_t payload = XXH3_64bits(old.data() + 64, old.size() - 64);
  std::memcpy(old.data() + 48, &payload, sizeof payload);
  return forged(old, 8, std::uint32_t{1});
}

}  // namespace

TEST_CASE("Each block is compared when it is first read, and no other is touched") {
  const TemporaryFolder folder;
  const fs::path path = folder.path / "shard.bin";
  constexpr std::size_t kTokens = 100'000;  // 200,000 bytes, 4 blocks, the last with the index
  {
    ShardWriter writer(path, {.size = 300, .fingerprint = 1});
    for (std::size_t i = 0; i < kTokens; i += 1000) {
      std::vector<TokenId> ids(1000);
      for (std::size_t j = 0; j < ids.size(); ++j) ids[j] = static_cast<TokenId>((i + j) % 300);
      writer.add_tokens(ids);
      writer.end_document();
    }
    writer.finish();
  }
  const std::string good = read_file(path);
  REQUIRE(good.size() == 64 + 200'000 + 101 * 8 + 4 * 8);
  std::string bad = good;
  bad[64 + 65'536 + 10] = static_cast<char>(bad[64 + 65'536 + 10] ^ 1);  // still in the vocabulary
  SECTION("with the checksums of blocks") {
    write_text(path, bad);
    const Shard shard(path);
    std::vector<TokenId> ids(32'768);
    CHECK_NOTHROW(shard.copy_tokens(0, ids));
    CHECK_NOTHROW(shard.copy_tokens(2 * 32'768, ids));
    CHECK(ids[7] == (2 * 32'768 + 7) % 300);
    for (const std::size_t first : {32'767, 32'768, 50'000}) {
      CHECK_THROWS_WITH(shard.copy_tokens(first, std::span(ids).first(2)),
                        path.string() +
                            ": is damaged: block 2 of 4 (bytes 65600 to 131135 of the file) does "
                            "not fit its checksum (hint: prepare the data again: roformer data "
                            "prepare)");
    }
    CHECK_THROWS_AS(shard.verify_checksum(), Error);
  }
  SECTION("and the whole file where it is of the version before") {
    write_text(path, without_blocks(good, 4));
    std::vector<Shard> moved;
    moved.emplace_back(path);
    moved.emplace_back(path);
    std::vector<TokenId> ids(3);
    moved[0].copy_tokens(99'000, ids);
    CHECK(ids == std::vector<TokenId>{0, 1, 2});
    moved[0].verify_checksum();
    const std::string old = without_blocks(good, 4);
    bad = old;
    bad[64 + 65'536 + 10] = static_cast<char>(bad[64 + 65'536 + 10] ^ 1);
    write_text(path, bad);
    const Shard shard(path);
    CHECK_THROWS_WITH(shard.copy_tokens(0, ids), Catch::Contains("is damaged: block 1 of 1"));
  }
}
