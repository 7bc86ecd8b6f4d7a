#include "text/characters.h"

#include <string>

#include "catch.h"

using namespace roformer;

TEST_CASE("Letters of scripts without spaces are told from others, half ones too") {
  for (const std::string text :
       {"\u6211", "\u3042", "\u30a2", "\u0e01", "\u1780", "\u1000", "\U00020000"}) {
    CAPTURE(text);
    CHECK(begins_unspaced(text));
    CHECK(begins_unspaced(text + "a"));
    CHECK_FALSE(begins_unspaced("a" + text));
    CHECK(ends_unspaced("a" + text));
    CHECK_FALSE(ends_unspaced(text + "a"));
    CHECK_FALSE(ends_unspaced(text.substr(0, text.size() - 1)));
    CHECK_FALSE(begins_unspaced(text.substr(1)));
  }
  CHECK(begins_unspaced("\xE6\x88"));  // the end is in the next piece
  for (const std::string text :
       {"", "a", " ", "1", "\u00fc", "\u0434", "\uac00", "\u3002", "\u2581", "\xff", "\x80"}) {
    CAPTURE(text);
    CHECK_FALSE(begins_unspaced(text));
    CHECK_FALSE(ends_unspaced(text));
  }
}
