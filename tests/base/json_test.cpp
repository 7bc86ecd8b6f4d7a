#include "base/json.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "catch.h"

using namespace roformer;

namespace {

std::string nested(std::size_t depth, const std::string& inside = "") {
  return std::string(depth, '[') + inside + std::string(depth, ']');
}

}  // namespace

TEST_CASE("JSON is read as deep as any file of the program is, and no deeper") {
  CHECK(parse_json(nested(kDeepestJson), "file").is_array());
  CHECK_THROWS_WITH(parse_json(nested(kDeepestJson + 1), "file"),
                    "file: nests lists and objects deeper than 100");
  // What overran the stack: closed and open, lists, objects and both.
  std::string objects;
  for (int i = 0; i < 200'000; ++i) objects += "{\"a\":[";
  for (const std::string& text :
       {nested(200'000), std::string(200'000, '['), std::string(200'000, '{'), objects}) {
    CHECK_FALSE(try_parse_json(text));
    CHECK_THROWS_AS(parse_json(text, "file"), Error);
  }
}

TEST_CASE("brackets in a text do not count") {
  const std::string text = "\"" + std::string(500, '[') + "\\\"" + std::string(500, '{') + "\"";
  CHECK(parse_json(nested(50, text), "file").size() == 1);
  CHECK(parse_json("[" + nested(99) + "," + nested(99) + "]", "file").size() == 2);
}

TEST_CASE("what is no JSON is told by its location") {
  CHECK_THROWS_WITH(parse_json("", "file"), "file: is empty, not JSON");
  CHECK_THROWS_WITH(parse_json("{\n  \"a\": 1,\n  b\n}", "file"),
                    "file: is not JSON from line 3, column 3 on");
  CHECK_THROWS_WITH(parse_json("{\"\xff\": 1}", "file"), "file: is not JSON from column 3 on");
  CHECK_THROWS_WITH(parse_json("[1e999]", "file"), "file: holds a number that is too large");
  CHECK_FALSE(try_parse_json("[1e999]"));
}

TEST_CASE("a name that stands twice is refused where a value would be lost") {
  const std::string text = R"({"a": {"b": 1, "c": 2}, "d": {"b": 3, "b": 4}})";
  CHECK(parse_json(text, "file")["d"]["b"] == 4);
  CHECK_THROWS_WITH(parse_json(text, "file", RepeatedNames::refused), "file: names \"b\" twice");
  CHECK_NOTHROW(parse_json(R"({"a": {"b": 1}, "b": 2})", "file", RepeatedNames::refused));
}

TEST_CASE("names are watched as far as a text is JSON, and no further") {
  const auto read = [](const char* text) { parse_json(text, "file", RepeatedNames::refused); };
  CHECK_THROWS_WITH(read(R"({"a": 1, "a": 2, b})"), "file: names \"a\" twice");
  CHECK_THROWS_WITH(read(R"({"a": 1, b, "a": 2})"), "file: is not JSON from column 10 on");
  CHECK_THROWS_WITH(read(R"({"a": 1e999, "a": 2})"), "file: holds a number that is too large");
  CHECK_THROWS_WITH(read(R"({"a\u0062": 1, "ab": 2})"), "file: names \"ab\" twice");
  CHECK_THROWS_WITH(read(""), "file: is empty, not JSON");
  const std::string text =
      R"([{"a": -1, "b": [true, null, 0.5, "x"]}, {"a": 18446744073709551615}])";
  CHECK(parse_json(text, "file", RepeatedNames::refused) == parse_json(text, "file"));
}

TEST_CASE("an object of 100,000 objects takes no quadratic time to watch") {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) {
    text += fmt::format("{}\"tensor {}\": {{\"shape\": [1, 2], \"to\": {}}}", i ? "," : "", i, i);
  }
  text += "}";
  const auto start = std::chrono::steady_clock::now();
  CHECK(parse_json(text, "file", RepeatedNames::refused).size() == 100'000);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(taken.count() < 20);
}

TEST_CASE("a message tells what a value is and does not repeat it") {
  CHECK(describe_json(nullptr) == "null");
  CHECK(describe_json(true) == "true");
  CHECK(describe_json(-3) == "-3");
  CHECK(describe_json(std::uint64_t{1} << 63) == "9223372036854775808");
  CHECK(describe_json(0.25) == "0.25");
  CHECK(describe_json("a\nb") == "\"a?b\"");
  CHECK(describe_json(std::string(5000, 'x')).size() < 100);
  CHECK(describe_json(nlohmann::json::array({1, 2})) == "a list of 2");
  CHECK(describe_json({{"a", 1}}) == "an object of 1");
}

TEST_CASE("an integer of JSON is one that fits, or refused in words") {
  CHECK(json_integer(nlohmann::json(-7)) == -7);
  CHECK(json_integer(nlohmann::json::parse("9223372036854775807")) == 9223372036854775807);
  for (const char* const text : {"9223372036854775808", "1e93", "1.5", "null", "[1]", "\"1\""}) {
    CHECK_THROWS_WITH(json_integer(nlohmann::json::parse(text), "a.json"),
                      Catch::Contains("a.json: has ") && Catch::Contains("an integer is wanted"));
  }
}
