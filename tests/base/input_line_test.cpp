#include "base/input_line.h"

#include <fstream>
#include <sstream>

#include "base/error.h"
#include "catch.h"

using namespace roformer;

TEST_CASE("lines end with the input, and an input that cannot be read is not at its end") {
  std::istringstream text("one\n\nthree");
  std::string line;
  CHECK((next_line(text, "text", line) && line == "one"));
  CHECK((next_line(text, "text", line) && line.empty()));
  CHECK((next_line(text, "text", line) && line == "three"));
  CHECK_FALSE(next_line(text, "text", line));
  std::ifstream folder("/");
  CHECK_THROWS_WITH(next_line(folder, "the folder", line),
                    Catch::Contains("the folder: cannot be read"));
}

TEST_CASE("line breaks of a text become spaces") {
  CHECK(as_one_line("a\nb\r\nc") == "a b  c");
}
