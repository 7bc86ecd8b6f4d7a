#include "data/recipe.h"

#include <fmt/format.h>

#include <functional>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "config/problems.h"
#include "config/suggest.h"
#include "config/yaml_file.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

YAML::Node parse(const fs::path& path) {
  const std::string text = read_file(path);
  try {
    return YAML::Load(text);
  } catch (const YAML::Exception& problem) {
    throw_usage(fmt::format("{}:{}", path.string(), problem.mark.line + 1),
                "is not valid YAML: " + problem.msg);
  }
}

// One recipe's values as they are read; each method adds to the problems what does not fit.
class Reader {
 public:
  Reader(fs::path path, Problems& problems) : path_(std::move(path)), problems_(problems) {}

  void text(const YamlEntry& entry, std::string& value) {
    if (entry.value.IsScalar()) {
      value = entry.value.Scalar();
    } else {
      refuse(entry, "text");
    }
  }
  void texts(const YamlEntry& entry, std::vector<std::string>& values) {
    if (!entry.value.IsSequence() || entry.value.size() == 0) return refuse(entry, "a list");
    for (const YAML::Node& item : entry.value) {
      if (!item.IsScalar()) return refuse(entry, "a list of texts");
      values.push_back(item.Scalar());
    }
  }
  void files(const YamlEntry& entry, std::vector<fs::path>& values) {
    std::vector<std::string> names;
    texts(entry, names);
    for (const std::string& name : names) {
      values.push_back((path_.parent_path() / name).lexically_normal());
    }
  }
  void flag(const YamlEntry& entry, bool& value) {
    if (!YAML::convert<bool>::decode(entry.value, value)) refuse(entry, "true or false");
  }
  void fraction(const YamlEntry& entry, double& value) {
    if (!YAML::convert<double>::decode(entry.value, value) || !(value >= 0 && value < 1)) {
      refuse(entry, "a number from 0 to less than 1");
    }
  }
  // A word that `parse_word` understands or complains about.
  void word(const YamlEntry& entry, auto parse_word, auto& value) {
    if (!entry.value.IsScalar()) return refuse(entry, "a word");
    try {
      value = parse_word(entry.value.Scalar());
    } catch (const Error& error) {
      add(entry, error.parts().message, "");
    }
  }
  void add(const YamlEntry& entry, std::string message, std::string hint) {
    problems_.add({.place = entry.place,
                   .key = entry.key,
                   .message = std::move(message),
                   .hint = std::move(hint)});
  }

 private:
  fs::path path_;
  Problems& problems_;

  void refuse(const YamlEntry& entry, const std::string& wanted) {
    add(entry, fmt::format("got {}, wanted {}", describe(entry.value), wanted), "");
  }
};

void require_raw_files(const Recipe& recipe, const fs::path& path) {
  for (const auto* const files : {&recipe.corpus.inputs, &recipe.validation_files}) {
    for (const fs::path& file : *files) {
      std::error_code error;
      if (fs::exists(file, error)) continue;
      throw_failure(path.string(), fmt::format("its raw files are not there: {}", file.string()),
                    recipe.fetch.empty() ? "" : "fetch them: " + recipe.fetch);
    }
  }
}

}  // namespace

Recipe read_recipe(const fs::path& path) {
  const YAML::Node root = parse(path);
  if (!root.IsMap()) {
    throw_usage(path.string(), "is not a recipe: wanted `key: value` lines",
                "data/README.md lists the keys");
  }
  Recipe recipe;
  Problems problems;
  Reader reader(path, problems);
  using Take = std::function<void(const YamlEntry&)>;
  const std::map<std::string, Take> keys = {
      {"name", [&](const YamlEntry& e) { reader.text(e, recipe.name); }},
      {"description", [&](const YamlEntry& e) { reader.text(e, recipe.description); }},
      {"source", [&](const YamlEntry& e) { reader.text(e, recipe.source); }},
      {"licence", [&](const YamlEntry& e) { reader.text(e, recipe.licence); }},
      {"packages", [&](const YamlEntry& e) { reader.texts(e, recipe.packages); }},
      {"fetch", [&](const YamlEntry& e) { reader.text(e, recipe.fetch); }},
      {"files", [&](const YamlEntry& e) { reader.files(e, recipe.corpus.inputs); }},
      {"validation_files", [&](const YamlEntry& e) { reader.files(e, recipe.validation_files); }},
      {"reader",
       [&](const YamlEntry& e) { reader.word(e, parse_corpus_reader, recipe.corpus.reader); }},
      {"document_separator",
       [&](const YamlEntry& e) {
         reader.word(e, parse_document_separator, recipe.corpus.separator);
       }},
      {"remove_repeats", [&](const YamlEntry& e) { reader.flag(e, recipe.corpus.remove_repeats); }},
      {"validation_fraction",
       [&](const YamlEntry& e) { reader.fraction(e, recipe.validation_fraction); }},
  };
  std::vector<std::string> known;
  for (const auto& [key, take] : keys) known.push_back(key);
  for (const YamlEntry& entry : entries_of(path, root, problems)) {
    const auto found = keys.find(entry.key);
    if (found != keys.end()) {
      found->second(entry);
    } else {
      reader.add(entry, "unknown key of a recipe", suggestion(entry.key, known));
    }
  }
  for (const char* const required : {"name", "files"}) {
    if (!root[required]) {
      problems.add({.place = path.string(), .key = required, .message = "is missing", .hint = ""});
    }
  }
  problems.throw_if_any();
  require_raw_files(recipe, path);
  return recipe;
}

std::optional<Recipe> recipe_among(const std::vector<fs::path>& arguments) {
  for (const fs::path& argument : arguments) {
    const std::string extension = argument.extension().string();
    if (extension != ".yaml" && extension != ".yml") continue;
    if (arguments.size() > 1) {
      throw_usage(argument.string(), "a recipe stands alone, without other files");
    }
    return read_recipe(argument);
  }
  return std::nullopt;
}

}  // namespace roformer
