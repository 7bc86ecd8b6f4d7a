// Reads the keys of a recipe by type and collects all that is wrong with it, each with file:line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/problems.h"
#include "config/value.h"
#include "config/yaml_file.h"

namespace roformer {

// What every recipe says of its corpus.
struct RecipeOrigin {
  std::string name;
  std::string description;
  std::string source;
  std::string licence;
  std::vector<std::string> packages;  // of the distribution, that hold the corpus
  std::string fetch;                  // the command that brings the raw files
};

class RecipeReader {
 public:
  // What to do with the value of a key.
  using Keys = std::map<std::string, std::function<void(const YamlEntry&)>>;

  // Parses the file; throws Error (usage) where it is no YAML or no map. `what` it is stands in
  // messages.
  explicit RecipeReader(std::filesystem::path path, std::string what = "a recipe");

  // The values of the recipe, or of a map inside it; `what` names it ("a recipe") in messages. A
  // key that is not among `keys` and one of `required` that is missing are problems.
  void read(const Keys& keys, const std::vector<std::string>& required);
  void read_map(const YamlEntry& entry, const std::string& what, const Keys& keys,
                const std::vector<std::string>& required = {});
  // Calls read(item) for each item of a list of maps.
  void each_item(const YamlEntry& entry, const std::function<void(const YamlEntry&)>& read);

  // The keys of the origin; both must outlive what is returned.
  Keys origin_keys(RecipeOrigin& origin);

  void text(const YamlEntry& entry, std::string& value);
  void texts(const YamlEntry& entry, std::vector<std::string>& values);
  // Paths are relative to the recipe.
  void file(const YamlEntry& entry, std::filesystem::path& value);
  void files(const YamlEntry& entry, std::vector<std::filesystem::path>& values);
  void flag(const YamlEntry& entry, bool& value);
  void fraction(const YamlEntry& entry, double& value);  // from 0 to less than 1
  void number(const YamlEntry& entry, double& value);    // not negative
  void count(const YamlEntry& entry, std::int64_t& value);
  // A word that `parse_word` understands or complains about.
  void word(const YamlEntry& entry, auto parse_word, auto& value) {
    if (!entry.value.IsScalar()) return refuse(entry, "a word");
    try {
      value = parse_word(entry.value.Scalar());
    } catch (const Error& error) {
      add(entry, error.parts().message);
    }
  }

  void add(const YamlEntry& entry, std::string message, std::string hint = "");
  // file:line of a value.
  std::string where(const YAML::Node& value) const { return location_of(path_, value); }
  void throw_if_any() const { problems_.throw_if_any(); }
  const YAML::Node& root() const { return root_; }

 private:
  std::filesystem::path path_;
  std::string what_;
  YAML::Node root_;
  Problems problems_;

  void refuse(const YamlEntry& entry, const std::string& wanted, std::string hint = "");
  template <class Number>
  void read_number(const YamlEntry& entry, Number& value,
                   Number (*parse)(std::string_view, const Range&), const Range& range,
                   const std::string& wanted);
  void take(const YAML::Node& map, const std::string& what, const std::string& where,
            const Keys& keys, const std::vector<std::string>& required);
};

// Throws Error (failure) naming the first file that is not there, with the way to `fetch` it.
void require_raw_files(const std::filesystem::path& recipe, const std::string& fetch,
                       const std::vector<std::filesystem::path>& files);

}  // namespace roformer
