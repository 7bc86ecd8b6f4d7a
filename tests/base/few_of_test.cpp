#include "base/few_of.h"

#include "catch.h"

using namespace roformer;

TEST_CASE("a message names a few of many") {
  CHECK(few_of({}).empty());
  CHECK(few_of({"a", "b"}) == "a, b");
  CHECK(few_of({"a", "b", "c"}, 2) == "a, b and 1 more");
  CHECK(few_of({"a", "b", "c"}, 3) == "a, b, c");
}
