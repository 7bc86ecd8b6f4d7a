#include "config/json_schema.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "config/assignment.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/words.h"

namespace roformer {
namespace {

using Json = nlohmann::ordered_json;

// "help (in tokens; default: 128; only for task mlm)"
std::string description_of(const Key& key) {
  std::string facts;
  const auto add = [&](const std::string& fact) { facts += (facts.empty() ? "" : "; ") + fact; };
  if (!key.unit.empty()) add("in " + key.unit);
  const std::string standard = key.default_text();
  add("default: " + (standard.empty() ? "(empty)" : standard));
  std::string tasks;
  for (const TaskKind task : key.tasks) tasks += (tasks.empty() ? "" : ", ") + to_word(task);
  if (!tasks.empty()) add("only for task " + tasks);
  return key.help + " (" + facts + ")";
}

void add_range(Json& schema, const Range& range, bool whole) {
  const auto bound = [&](const char* name, double value) {
    if (!std::isfinite(value)) return;
    if (whole && std::abs(value) < 9e15) {
      schema[name] = static_cast<std::int64_t>(value);
    } else {
      schema[name] = value;
    }
  };
  bound(range.low_open ? "exclusiveMinimum" : "minimum", range.low);
  bound(range.high_open ? "exclusiveMaximum" : "maximum", range.high);
}

Json number_schema(const Key& key) {
  const bool whole = key.type == KeyType::integer;
  Json number{{"type", whole ? "integer" : "number"}};
  add_range(number, key.range, whole);
  // YAML 1.1 reads 1e-4 as a text; integers may end in k, M or G.
  const Json text{{"type", "string"},
                  {"pattern", whole ? "^-?[0-9]+[kMG]?$" : "^-?[0-9.]+([eE][-+]?[0-9]+)?$"}};
  return {{"anyOf", {number, text}}};
}

// The values of a key, without help.
Json values_of_key(const Key& key) {
  switch (key.type) {
    case KeyType::integer:
    case KeyType::number:
      return number_schema(key);
    case KeyType::boolean:
      return {{"type", "boolean"}};
    case KeyType::word:
      return {{"enum", key.words}};
    case KeyType::period: {
      const Json steps{{"type", "integer"}, {"minimum", 0}};
      const Json text{{"type", "string"}, {"pattern", "^[0-9.]+ ?[A-Za-z]*$"}};
      return {{"anyOf", {steps, text}}};
    }
    case KeyType::list:
      return {{"type", {"array", "object", "string", "null"}}};
    case KeyType::text:
    case KeyType::path:
      return {{"type", {"string", "number", "null"}}};
  }
  return {};
}

Json schema_of_key(const Key& key) {
  Json schema{{"description", description_of(key)}};
  schema.update(values_of_key(key));
  static const Settings defaults;
  if (key.type == KeyType::path) return schema;
  const bool plain =
      key.type == KeyType::integer || key.type == KeyType::number || key.type == KeyType::boolean;
  const std::string text = key.default_text();
  if (plain) {
    schema["default"] = key.json(defaults);
  } else if (!text.empty() && key.type != KeyType::list) {
    schema["default"] = text;
  }
  return schema;
}

// Every name that a file may use for a key or a section, without studies: "seed", "training",
// "training.steps", "position.rope", "position.base".
std::vector<std::string> all_names() {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const std::string& key : assignable_keys()) {
    for (std::size_t dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
      add(key.substr(0, dot));
    }
    add(key);
  }
  for (const std::string& scheme : position_names()) add("position." + scheme);
  return names;
}

// The keys and sections below a prefix ("training.", or "" for the file itself): by their last name
// if they are one level below, and dotted otherwise. Editors offer only the first.
Json members_below(const std::string& prefix, const std::vector<std::string>& names,
                   const std::string& help) {
  Json section = closed_object(help);
  for (const std::string& name : names) {
    if (!name.starts_with(prefix) || name == prefix) continue;
    const std::string rest = name.substr(prefix.size());
    if (rest.find('.') == std::string::npos) {
      section["properties"][rest] = reference_to(name);
    } else {
      section["patternProperties"][exactly(rest)] = reference_to(name);
    }
  }
  return section;
}

// `position.base`: the option of whichever scheme is chosen.
Json short_option_schema(const std::string& name) {
  std::vector<Json> choices;
  for (const Key& key : schema()) {
    if (key.scheme().empty()) continue;
    if ("position" + key.name.substr(key.name.rfind('.')) != name) continue;
    choices.push_back(reference_to(key.name));
  }
  if (choices.size() == 1) return choices.front();
  return {{"anyOf", choices}};
}

// A section, and the single value that it may be instead: `position: rope`, `position.formula:
// FILE#NAME`, `position.layers: {0-2: rope, others: none}`.
Json section_schema(const std::string& name, const std::vector<std::string>& names) {
  std::string help = name == "position" ? "the positional scheme and its options" : "";
  if (const PositionFacts* const facts =
          name.starts_with("position.") ? find_position_facts(name.substr(9)) : nullptr) {
    help = std::string(facts->formula);
  }
  std::vector<Json> forms{members_below(name + ".", names, help)};
  if (name == "position") forms.push_back(reference_to("position.scheme"));
  if (is_shorthand(name)) forms.push_back({{"type", "string"}});
  if (is_shorthand_map_key(name, "0-2")) {
    forms.push_back({{"type", "object"}, {"propertyNames", {{"pattern", "^([0-9].*|others)$"}}}});
  }
  forms.push_back({{"type", "null"}});
  return {{"anyOf", forms}};
}

}  // namespace

Json reference_to(const std::string& definition) {
  return {{"$ref", "#/definitions/" + definition}};
}

Json closed_object(const std::string& help) {
  Json object{{"type", "object"}};
  if (!help.empty()) object["description"] = help;
  object["properties"] = Json::object();
  object["additionalProperties"] = false;
  return object;
}

std::string exactly(const std::string& name) {
  std::string pattern = "^";
  for (const char c : name) pattern += c == '.' ? "\\." : std::string(1, c);
  return pattern + "$";
}

Json json_schema_of_settings() {
  const std::vector<std::string> names = all_names();
  Json result{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"title", "a configuration of roformer"}};
  result.update(members_below("", names, ""));
  result["properties"]["extends"] = {
      {"type", "string"},
      {"description", "a file whose keys this one overrides; its path is relative to this file"}};
  Json& definitions = result["definitions"] = Json::object();
  for (const std::string& name : names) {
    if (const Key* const key = find_key(name)) {
      definitions[name] = schema_of_key(*key);
      continue;
    }
    const bool section = std::ranges::any_of(
        names, [&](const std::string& other) { return other.starts_with(name + "."); });
    const bool scheme = name.starts_with("position.") && find_position_facts(name.substr(9));
    definitions[name] = section || scheme ? section_schema(name, names) : short_option_schema(name);
  }
  return result;
}

}  // namespace roformer
