#include "config/json_schema.h"

#include <regex>

#include "catch.h"
#include "config/schema.h"

using namespace roformer;

namespace {

using Json = nlohmann::ordered_json;

void check_references(const Json& part, const Json& definitions) {
  if (part.is_object() && part.contains("$ref")) {
    const std::string name = part["$ref"].get<std::string>().substr(14);  // "#/definitions/"
    CAPTURE(name);
    CHECK(definitions.contains(name));
  }
  if (!part.is_structured()) return;  // a value would be iterated as itself
  for (const Json& inner : part) check_references(inner, definitions);
}

}  // namespace

TEST_CASE("the JSON Schema has every key with its type, range, words, default and help") {
  const Json made = json_schema_of_settings();
  const Json& definitions = made["definitions"];
  check_references(made, definitions);
  for (const Key& key : schema()) {
    CAPTURE(key.name);
    REQUIRE(definitions.contains(key.name));
    CHECK(definitions[key.name]["description"].get<std::string>().starts_with(key.help));
    if (key.type == KeyType::word) CHECK(definitions[key.name]["enum"].size() == key.words.size());
  }
  CHECK(definitions["model.layers"]["anyOf"][0] ==
        Json{{"type", "integer"}, {"minimum", 1}, {"maximum", 1000}});
  CHECK(definitions["model.dropout"]["anyOf"][0]["exclusiveMaximum"] == 1);
  CHECK(definitions["model.dropout"]["default"] == 0.1);
  CHECK(definitions["training"]["anyOf"][0]["additionalProperties"] == false);
  CHECK(definitions["position.base"]["anyOf"].size() > 1);  // of several schemes
}

TEST_CASE("names are matched exactly and nothing else is") {
  CHECK(std::regex_match("training.steps", std::regex(exactly("training.steps"))));
  CHECK_FALSE(std::regex_match("training_steps", std::regex(exactly("training.steps"))));
}
