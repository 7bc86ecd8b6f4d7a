#include "experiments/declaration/study_schema.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <regex>

#include "catch.h"
#include "experiments/declaration/study_sections.h"

using namespace roformer;

namespace {

using SchemaJson = nlohmann::ordered_json;

const SchemaJson& whole_schema() {
  static const SchemaJson schema = json_schema();
  return schema;
}

// The schema itself, or what its reference names.
const SchemaJson& resolved_schema(const SchemaJson& schema) {
  if (!schema.contains("$ref")) return schema;
  return whole_schema()["definitions"][schema["$ref"].get<std::string>().substr(14)];
}

bool is_of_type(const YAML::Node& value, const std::string& type) {
  if (type == "object") return value.IsMap();
  if (type == "array") return value.IsSequence();
  if (type == "null") return value.IsNull();
  return value.IsScalar();
}

bool is_of_types(const YAML::Node& value, const SchemaJson& types) {
  if (types.is_string()) return is_of_type(value, types);
  return std::ranges::any_of(types,
                             [&](const SchemaJson& type) { return is_of_type(value, type); });
}

// Whether the schema allows the names of all maps in the value. Of other values it
// looks only at their kind.
bool allows_names(const SchemaJson& given, const YAML::Node& value) {
  const SchemaJson& schema = resolved_schema(given);
  if (schema.contains("anyOf")) {
    return std::ranges::any_of(schema["anyOf"],
                               [&](const SchemaJson& form) { return allows_names(form, value); });
  }
  if (schema.contains("type") && !is_of_types(value, schema["type"])) return false;
  if (schema.contains("enum") && !value.IsScalar()) return false;
  if (value.IsSequence() && schema.contains("items")) {
    return std::all_of(value.begin(), value.end(),
                       [&](const YAML::Node& item) { return allows_names(schema["items"], item); });
  }
  if (!schema.contains("properties")) return true;
  if (!value.IsMap()) return false;
  for (const auto& pair : value) {
    const std::string name = pair.first.Scalar();
    const SchemaJson* found = nullptr;
    if (schema["properties"].contains(name)) found = &schema["properties"][name];
    if (schema.contains("patternProperties")) {
      for (const auto& [pattern, inner] : schema["patternProperties"].items()) {
        if (found == nullptr && std::regex_match(name, std::regex(pattern))) found = &inner;
      }
    }
    if (found == nullptr || !allows_names(*found, pair.second)) {
      UNSCOPED_INFO("not allowed: " << name);
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("the JSON Schema allows the names in every shipped configuration, and no others") {
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(CONFIGS)) {
    if (entry.path().extension() != ".yaml" || entry.path().filename() == "formulas.yaml") continue;
    if (entry.path().parent_path().filename() == "compare") continue;
    const YAML::Node root = YAML::LoadFile(entry.path());
    CAPTURE(entry.path().string());
    CHECK(allows_names(whole_schema(), root));
    ++files;
  }
  CHECK(files > 10);
  CHECK_FALSE(allows_names(whole_schema(), YAML::Load("training: {stepz: 5}")));
  CHECK_FALSE(allows_names(whole_schema(), YAML::Load("study: {nam: x}")));
  CHECK_FALSE(allows_names(whole_schema(), YAML::Load("matrix: {run: [a]}")));
}

TEST_CASE("the sections of a study have no field in the JSON Schema that their reader refuses") {
  const auto unknown_in = [](const std::string& section) {
    YAML::Node map;
    for (const auto& [name, field] : whole_schema()["properties"][section]["properties"].items()) {
      map[name] = "x";
    }
    Problems problems;
    const YamlFile::Section read{.file = "study.yaml", .node = map};
    StudySettings study;
    if (section == "study") read_study_section(read, study, problems);
    if (section == "evaluate") read_study_evaluations(read, problems);
    if (section == "tune") read_tuning(read, problems);
    return std::ranges::count_if(problems.lines(), [](const std::string& line) {
      return line.find("unknown") != std::string::npos;
    });
  };
  for (const char* const section : {"study", "evaluate", "tune"}) {
    CAPTURE(section);
    CHECK(unknown_in(section) == 0);
  }
}
