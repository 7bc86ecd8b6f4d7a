#include "config/data_source.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "config/suggest.h"
#include "config/value.h"
#include "config/yaml_text.h"

namespace roformer {
namespace {

constexpr const char* kWanted = "a list of sources, [{directory: FOLDER, weight: 2}, …]";

DataSource parse_source(const YAML::Node& node, const std::filesystem::path& folder) {
  DataSource source;
  if (!node.IsMap()) throw InvalidValue("{directory: FOLDER, …}");
  for (const auto& pair : node) {
    const std::string field = pair.first.Scalar();
    if (!pair.second.IsScalar()) throw InvalidValue(field + " as a single value");
    const std::string text = pair.second.Scalar();
    if (field == "directory") {
      source.directory = (folder / text).lexically_normal();
    } else if (field == "weight") {
      try {
        source.weight = parse_number(text, above(0));
      } catch (const InvalidValue& invalid) {
        throw InvalidValue(fmt::format("weight as {}", invalid.what()), "got weight: " + text);
      }
    } else {
      throw InvalidValue("only directory and weight in it",
                         suggestion(field, {"directory", "weight"}));
    }
  }
  if (source.directory.empty()) throw InvalidValue("`directory`, which it lacks");
  return source;
}

}  // namespace

std::vector<DataSource> parse_sources(std::string_view text, const std::filesystem::path& folder) {
  std::vector<DataSource> sources;
  if (text.empty()) return sources;
  const YAML::Node list = parse_value(text, kWanted);
  if (!list.IsSequence()) throw InvalidValue(kWanted);
  for (std::size_t i = 0; i < list.size(); ++i) {
    try {
      sources.push_back(parse_source(list[i], folder));
    } catch (const InvalidValue& invalid) {
      throw InvalidValue(fmt::format("in source {} {}", i + 1, invalid.what()), invalid.hint);
    }
  }
  return sources;
}

std::string print_sources(const std::vector<DataSource>& sources) {
  if (sources.empty()) return "";
  std::string text;
  for (const DataSource& source : sources) {
    text += fmt::format("{}{{directory: {}, weight: {}}}", text.empty() ? "" : ", ",
                        quoted_path(source.directory), print_number(source.weight));
  }
  return "[" + text + "]";
}

}  // namespace roformer
