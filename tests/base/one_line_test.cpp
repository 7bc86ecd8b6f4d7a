#include "base/one_line.h"

#include "catch.h"

using namespace roformer;

TEST_CASE("line breaks of a text become spaces") {
  CHECK(as_one_line("a\nb\r\nc") == "a b  c");
}
