#include "text/utf16.h"

#include "catch.h"

using namespace roformer;
using Order = Utf16Decoder::Order;

namespace {

// Fed in pieces of `piece` bytes.
std::string decoded(std::string_view bytes, Order order, std::uint64_t* replaced = nullptr,
                    std::size_t piece = 1) {
  Utf16Decoder decoder(order);
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    decoder.feed(bytes.substr(at, piece), text);
  }
  decoder.finish(text);
  if (replaced != nullptr) *replaced = decoder.replaced();
  return text;
}

}  // namespace

TEST_CASE("UTF-16 of either order is read in pieces of any size") {
  using namespace std::string_view_literals;
  const std::string_view little = "a\0\xe4\0-N\x3d\xd8\x00\xde\n\0"sv;
  const std::string_view big = "\0a\0\xe4N-\xd8\x3d\xde\x00\0\n"sv;
  for (const std::size_t piece : {1, 2, 3, 100}) {
    CHECK(decoded(little, Order::little_endian, nullptr, piece) == "aä中😀\n");
    CHECK(decoded(big, Order::big_endian, nullptr, piece) == "aä中😀\n");
  }
}

TEST_CASE("half of a character becomes U+FFFD and is counted") {
  using namespace std::string_view_literals;
  std::uint64_t replaced = 0;
  CHECK(decoded("\x3d\xd8"
                "a\0"sv,
                Order::little_endian, &replaced) ==
        "\xef\xbf\xbd"
        "a");
  CHECK(replaced == 1);
  CHECK(decoded("\x3d\xd8\x3d\xd8\x00\xde"sv, Order::little_endian, &replaced) == "\xef\xbf\xbd😀");
  CHECK(decoded("\x00\xde"
                "a\0b"sv,
                Order::little_endian, &replaced) ==
        "\xef\xbf\xbd"
        "a\xef\xbf\xbd");
  CHECK(replaced == 2);
  CHECK(decoded("\x3d\xd8"sv, Order::little_endian, &replaced) == "\xef\xbf\xbd");
}
