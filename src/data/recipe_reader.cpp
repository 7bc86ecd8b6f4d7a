#include "data/recipe_reader.h"

#include <fmt/format.h>

#include "base/file.h"
#include "config/suggest.h"
#include "config/yaml_text.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kLargestCount = 1'000'000'000;

}  // namespace

RecipeReader::RecipeReader(fs::path path, std::string what)
    : path_(std::move(path)), what_(std::move(what)) {
  try {
    root_ = parse_document(read_file(path_, kLargestDescription));
  } catch (const YAML::Exception& problem) {
    throw_usage(fmt::format("{}:{}", path_.string(), problem.mark.line + 1),
                "is not valid YAML: " + problem.msg);
  }
  if (!root_.IsMap()) {
    throw_usage(path_.string(), fmt::format("is not {}: wanted `key: value` lines", what_));
  }
}

void RecipeReader::take(const YAML::Node& map, const std::string& what, const std::string& where,
                        const Keys& keys, const std::vector<std::string>& required) {
  std::vector<std::string> known;
  for (const auto& [key, action] : keys) known.push_back(key);
  for (const YamlEntry& entry : entries_of(path_, map, problems_)) {
    const auto found = keys.find(entry.key);
    if (found != keys.end()) {
      found->second(entry);
    } else {
      add(entry, "unknown key of " + what, suggestion(entry.key, known));
    }
  }
  for (const std::string& key : required) {
    if (!map[key]) {
      problems_.add({.where = where, .key = key, .message = "is missing", .hint = ""});
    }
  }
}

void RecipeReader::read(const Keys& keys, const std::vector<std::string>& required) {
  take(root_, what_, path_.string(), keys, required);
}

void RecipeReader::read_map(const YamlEntry& entry, const std::string& what, const Keys& keys,
                            const std::vector<std::string>& required) {
  if (!entry.value.IsMap()) return refuse(entry, what + " as `key: value` pairs");
  take(entry.value, what, entry.where, keys, required);
}

void RecipeReader::each_item(const YamlEntry& entry,
                             const std::function<void(const YamlEntry&)>& read) {
  if (!entry.value.IsSequence() || entry.value.size() == 0) return refuse(entry, "a list");
  for (const YAML::Node& item : entry.value) {
    read({.key = entry.key, .where = location_of(path_, item), .value = item});
  }
}

RecipeReader::Keys RecipeReader::origin_keys(RecipeOrigin& origin) {
  return {{"name", [&](const YamlEntry& e) { text(e, origin.name); }},
          {"description", [&](const YamlEntry& e) { text(e, origin.description); }},
          {"source", [&](const YamlEntry& e) { text(e, origin.source); }},
          {"licence", [&](const YamlEntry& e) { text(e, origin.licence); }},
          {"packages", [&](const YamlEntry& e) { texts(e, origin.packages); }},
          {"fetch", [&](const YamlEntry& e) { text(e, origin.fetch); }}};
}

void RecipeReader::text(const YamlEntry& entry, std::string& value) {
  if (entry.value.IsScalar()) {
    value = entry.value.Scalar();
  } else {
    refuse(entry, "text");
  }
}

void RecipeReader::texts(const YamlEntry& entry, std::vector<std::string>& values) {
  if (!entry.value.IsSequence() || entry.value.size() == 0) return refuse(entry, "a list");
  for (const YAML::Node& item : entry.value) {
    if (!item.IsScalar()) return refuse(entry, "a list of texts");
    values.push_back(item.Scalar());
  }
}

void RecipeReader::file(const YamlEntry& entry, fs::path& value) {
  std::string name;
  text(entry, name);
  value = (path_.parent_path() / name).lexically_normal();
}

void RecipeReader::files(const YamlEntry& entry, std::vector<fs::path>& values) {
  std::vector<std::string> names;
  texts(entry, names);
  for (const std::string& name : names) {
    values.push_back((path_.parent_path() / name).lexically_normal());
  }
}

void RecipeReader::flag(const YamlEntry& entry, bool& value) {
  if (!YAML::convert<bool>::decode(entry.value, value)) refuse(entry, "true or false");
}

void RecipeReader::fraction(const YamlEntry& entry, double& value) {
  read_number(entry, value, parse_number, below_one(), "a number from 0 to less than 1");
}

void RecipeReader::number(const YamlEntry& entry, double& value) {
  read_number(entry, value, parse_number, at_least(0), "a number that is not negative");
}

void RecipeReader::count(const YamlEntry& entry, std::int64_t& value) {
  read_number(entry, value, parse_integer, between(0, static_cast<double>(kLargestCount)),
              fmt::format("a whole number from 0 to {}", kLargestCount));
}

template <class Number>
void RecipeReader::read_number(const YamlEntry& entry, Number& value,
                               Number (*parse)(std::string_view, const Range&), const Range& range,
                               const std::string& wanted) {
  if (!entry.value.IsScalar()) return refuse(entry, wanted);
  try {
    value = parse(entry.value.Scalar(), range);
  } catch (const InvalidValue& invalid) {
    refuse(entry, wanted, invalid.hint);
  }
}

void RecipeReader::add(const YamlEntry& entry, std::string message, std::string hint) {
  problems_.add({.where = entry.where,
                 .key = entry.key,
                 .message = std::move(message),
                 .hint = std::move(hint)});
}

void RecipeReader::refuse(const YamlEntry& entry, const std::string& wanted, std::string hint) {
  add(entry, fmt::format("got {}, wanted {}", describe(entry.value), wanted), std::move(hint));
}

void require_raw_files(const fs::path& recipe, const std::string& fetch,
                       const std::vector<fs::path>& files) {
  for (const fs::path& file : files) {
    std::error_code error;
    if (fs::exists(file, error)) continue;
    throw_failure(recipe.string(), fmt::format("its raw files are not there: {}", file.string()),
                  fetch.empty() ? "" : "fetch them: " + fetch);
  }
}

}  // namespace roformer
