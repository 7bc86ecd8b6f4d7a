// Fields of a JSON object that may be anything: each reader gives the value or one line about it.
#include "base/json_fields.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/hexadecimal.h"
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
  const JsonFields fields(json, "a.json", "make it anew");
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
    CHECK(refusal(action).find("make it anew") != std::string::npos);
  };
  says([&] { items[1].count("count"); },
       "the field inner.list[1].count is not a non-negative integer");
  says([&] { fields.count("huge"); }, "the field huge is not an integer below 2^63");
  says([&] { fields.amount("number"); }, "the field number is not a number that is not negative");
  says([&] { fields.object("inner").text("missing"); }, "has no field inner.missing");
  says([&] { fields.hash("text"); }, "the field text is not 16 hexadecimal digits");
  says([&] { fields.objects("hashes"); }, "the field hashes[0] is not an object");
  says([&] { fields.object("count"); }, "the field count is not an object");
  says([&] { JsonFields(json["count"], "a.json", "make it anew"); }, "does not hold a JSON object");
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
