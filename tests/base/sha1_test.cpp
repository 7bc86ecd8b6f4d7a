#include "base/sha1.h"

#include "catch.h"

using namespace roformer;

TEST_CASE("SHA-1 gives the values of the standard, however the bytes arrive") {
  // FIPS 180-4's examples (NIST, "SHA1.pdf").
  const auto of = [](std::string_view text, std::size_t piece) {
    Sha1 hash;
    for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
      hash.update(text.substr(0, piece));
    }
    return hash.finish();
  };
  CHECK(of("", 1) == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  CHECK(of("abc", 10) == "a9993e364706816aba3e25717850c26c9cd0d89d");
  const std::string two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  CHECK(of(two, 100) == "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  const std::string million(1'000'000, 'a');
  for (const std::size_t piece : {1, 63, 64, 65, 4096}) {
    CAPTURE(piece);
    CHECK(of(million, piece) == "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  }
}
