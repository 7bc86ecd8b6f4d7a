// Fields of a JSON object that may be anything: each reader gives the value or one line about it.
#include "base/fields.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "catch.h"

using namespace roformer;

namespace {

std::string refusal(const auto& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("fields of JSON are read by type") {
  const nlohmann::json json = nlohmann::json::parse(R"({
    "count": 3, "huge": 18446744073709551615, "number": -0.5, "unknown": null, "flag": true,
    "text": "a", "hash": "00000000deadbeef", "hashes": ["0000000000000001", "ffffffffffffffff"],
    "inner": {"list": [{"count": 1}, {"count": -1}]}})");
  const JsonFields fields(json, "a.json", "write it again");
  CHECK(fields.has("count"));
  CHECK_FALSE(fields.has("counts"));
  CHECK(fields.count("count") == 3);
  CHECK(fields.unsigned_count("huge") == std::numeric_limits<std::uint64_t>::max());
  CHECK(fields.number("number") == -0.5);
  CHECK(std::isnan(fields.number("unknown")));
  CHECK(fields.flag("flag"));
  CHECK(fields.text("text") == "a");
  CHECK(fields.hash("hash") == 0xdeadbeef);
  CHECK(fields.hashes("hashes") ==
        std::vector<std::uint64_t>{1, std::numeric_limits<std::uint64_t>::max()});
  const std::vector<JsonFields> items = fields.object("inner").objects("list");
  REQUIRE(items.size() == 2);
  CHECK(items[0].count("count") == 1);

  const auto says = [&](const auto& action, const std::string& words) {
    INFO(refusal(action));
    CHECK(refusal(action).starts_with("a.json: " + words));
    CHECK(refusal(action).find("write it again") != std::string::npos);
  };
  says([&] { items[1].count("count"); },
       "\"inner.list[1].count\" is -1, wanted an integer of at least 0");
  says([&] { fields.count("huge"); },
       "\"huge\" is 18446744073709551615, wanted an integer of at least 0");
  says([&] { fields.unsigned_count("number"); },
       "\"number\" is -0.5, wanted a non-negative integer");
  says([&] { fields.amount("number"); }, "\"number\" is -0.5, wanted a number of at least 0");
  says([&] { fields.object("inner").text("missing"); }, "has no field inner.missing");
  says([&] { fields.hash("text"); }, "\"text\" is \"a\", wanted 16 hexadecimal digits");
  says([&] { fields.objects("hashes"); },
       "\"hashes[0]\" is \"0000000000000001\", wanted an object");
  says([&] { fields.object("count"); }, "\"count\" is 3, wanted an object");
  says([&] { JsonFields(json["count"], "a.json", "write it again"); },
       "does not hold a JSON object");
}

TEST_CASE("fields of JSON that are absent or null have their default") {
  const nlohmann::json json = {{"null", nullptr}, {"layers", 12}, {"share", 1.0}, {"kind", "b"}};
  const JsonFields fields(json, "a.json");
  CHECK(fields.count("absent", 7, at_least(0)) == 7);
  CHECK(fields.count("null", 7, at_least(8)) == 7);
  CHECK(fields.count("layers", 7, between(1, 12)) == 12);
  CHECK(fields.number("null", 0.5, below_one()) == 0.5);
  CHECK(fields.text("null", "b") == "b");
  CHECK(fields.flag("absent", true));
  CHECK(fields.find("null") == nullptr);
  CHECK(fields.word("kind", 0, {{"a", 1}, {"b", 2}}) == 2);
  CHECK(fields.word("null", 0, {{"a", 1}, {"b", 2}}) == 0);
  CHECK(refusal([&] { fields.count("layers", 7, between(1, 9)); }) ==
        "a.json: \"layers\" is 12, wanted an integer from 1 to 9");
  CHECK(refusal([&] { fields.number("share", 0, below_one()); }) ==
        "a.json: \"share\" is 1, wanted a number from 0 to below 1");
  CHECK(refusal([&] {
          fields.word<int>("kind", {{"a", 1}, {"c", 2}});
        }) == "a.json: \"kind\" is \"b\", wanted one of a, c");
  CHECK(refusal([&] { fields.refuse("absent", "a divisor of 3"); }) ==
        "a.json: \"absent\" is left at its default, wanted a divisor of 3");
  CHECK(refusal([&] { fields.refuse_others(); }) == "none");
  CHECK(refusal([&] {
          JsonFields(json, "a.json").refuse_others([](const std::string& name, const auto&) {
            return "not " + name;
          });
        }) == "a.json: \"kind\" is not a known field (hint: not kind)");
}

TEST_CASE("hashes are sixteen digits, both ways") {
  CHECK(hexadecimal(0xdeadbeef) == "00000000deadbeef");
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{1} << 63, std::numeric_limits<std::uint64_t>::max()}) {
    CHECK(parse_hexadecimal(hexadecimal(value)) == value);
  }
  for (const char* const text : {"", "deadbeef", "00000000deadbeeg", "0x000000deadbeef",
                                 "-0000000deadbeef", "00000000deadbeef0", " 0000000deadbeef"}) {
    CHECK_FALSE(parse_hexadecimal(text).has_value());
  }
}
