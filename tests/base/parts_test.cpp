// Texts taken apart at separators and from their blanks.
#include "base/parts.h"

#include "catch.h"

using namespace roformer;

TEST_CASE("a text is split at a separator, as lines are at their ends", "[parts]") {
  using Parts = std::vector<std::string_view>;
  CHECK(split_at("", '|') == Parts{});
  CHECK(split_at("a", '|') == Parts{"a"});
  CHECK(split_at("a|b|", '|') == Parts{"a", "b"});
  CHECK(split_at("|a||b||", '|') == Parts{"", "a", "", "b", ""});
}

TEST_CASE("blanks are taken from both ends of a text", "[parts]") {
  CHECK(trimmed("  a b ") == "a b");
  CHECK(trimmed("\t a\t") == "\t a\t");
  CHECK(trimmed("\t a\t", " \t") == "a");
  CHECK(trimmed("   ").empty());
}
