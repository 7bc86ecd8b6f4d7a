// What other programs write into JSON Lines and strict JSON does not have.
#include "data/json_line_parser.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "catch.h"
#include "has.h"
#include "message_of.h"
#include "said.h"

using namespace roformer;
using nlohmann::json;

namespace {

json parsed(std::string_view line) {
  return *JsonLineParser({.file = "f"}).parse(line, 1);
}

std::string line_complaint(std::string_view line) {
  return message_of([&] { parsed(line); });
}

constexpr const char* kReplacement = "\xef\xbf\xbd";

}  // namespace

TEST_CASE("strict JSON is read as it is") {
  const std::string text =
      R"({"a": [1, -2, 2.5, true, null, {"b": "c"}], "d": {"a": {}}, "e": "\ud83d\ude00\n\"NaN"})";
  CHECK(parsed(text) == json::parse(text));
  CHECK(parsed(R"({"a": 18446744073709551615, "b": 18446744073709551616})")["a"] ==
        18446744073709551615ULL);
  CHECK(parsed(" {} ").empty());
}

TEST_CASE("numbers that JSON lacks or no type holds are null, and their line is read") {
  const std::string digits(400, '9');
  const json line = parsed(R"({"a": NaN, "b": [Infinity, -Infinity], "c": -)" + digits +
                           R"(, "d": 1e999, "text": "NaN Infinity 1e999", "e": 7})");
  CHECK(line["a"].is_null());
  CHECK(line["b"] == json::array({nullptr, nullptr}));
  CHECK((line["c"].is_null() && line["d"].is_null()));
  CHECK(line["text"] == "NaN Infinity 1e999");
  CHECK(line["e"] == 7);
}

TEST_CASE("malformed text becomes U+FFFD and is counted in the text that has it") {
  JsonLineParser parser({.file = "f"});
  const auto check = [&](std::string_view line, const std::string& wanted, std::uint64_t replaced) {
    const json object = *parser.parse(line, 1);
    CHECK(object["text"] == wanted);
    CHECK(parser.replaced_in(object["text"].get<std::string>()) == replaced);
  };
  check("{\"text\": \"caf\xe9 \xff\xff\"}",
        std::string("caf") + kReplacement + " " + kReplacement + kReplacement, 3);
  check(R"({"text": "a\ud83d b"})", std::string("a") + kReplacement + " b", 1);
  check(R"({"text": "\udE00\ud83d\ud83d\ude00"})", std::string(kReplacement) + kReplacement + "😀",
        2);
  check(R"({"text": "\\ud83d"})", "\\ud83d", 0);
  // In another field, beside a text that has U+FFFD by itself or not.
  check(R"({"other": "\ud83d", "text": "fine"})", "fine", 0);
  check("{\"\xff\": 1, \"text\": \"fine\"}", "fine", 0);
  check(std::string("{\"text\": \"") + kReplacement + "\"}", kReplacement, 0);
}

TEST_CASE("what is no object is refused with the reason and the place") {
  CHECK(line_complaint("nonsense").starts_with("f:1: is not JSON from column 2 on"));
  CHECK(has(line_complaint(R"({"a": 1)"), "is not JSON from column 8 on"));
  // Columns are those of the line, not of what was made of it.
  CHECK(has(line_complaint(R"({"a": NaN, "b": Infinity, c: 1})"), "is not JSON from column 27 on"));
  CHECK(has(line_complaint("{\"a\": \"\xff\", c: 1}"), "is not JSON from column 12 on"));
  CHECK(has(line_complaint("[1, 2]"), "f:1: is a list of 2, wanted an object"));
  CHECK(has(line_complaint("7"), "is 7, wanted an object"));
  CHECK(has(line_complaint("{\"a\": nAn}"), "is not JSON"));
  CHECK(has(line_complaint(R"({"a": {"b": 1, "c": 2, "b": 3}})"), "f:1: names \"b\" twice"));
  CHECK(has(line_complaint(R"({"a": NaN, "a": 3})"), "names \"a\" twice"));
  CHECK(has(line_complaint(std::string(101, '[') + std::string(101, ']')), "deeper than 100"));
  CHECK(has(line_complaint(std::string(1'000'000, '[')), "deeper than 100"));
  CHECK(parsed(R"({"a": {"b": 1}, "b": [{"b": 2}, {"b": 3}]})").size() == 2);
}

TEST_CASE("broken lines are left out where that is asked for, and counted") {
  JsonLineParser parser({.file = "f", .skip_broken = true});
  const std::string log = said([&] {
    CHECK(parser.parse("{\"a\": 1}", 1));
    CHECK_FALSE(parser.parse("{\"a\": ", 2));
    CHECK_FALSE(parser.parse("[]", 3));
    CHECK_FALSE(parser.parse(R"({"a": 1, "a": 2})", 4));
    parser.finish();
  });
  CHECK(has(log, "f:2: is not JSON from column 7 on; it is left out"));
  CHECK_FALSE(has(log, "f:3"));
  CHECK(has(log, "f: 3 lines are no JSON objects and are left out"));
}
