// Reads the fields of a map in a YAML file by type (base/fields.h). Collects all problems, each
// with file:line, in the order of the file.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fields.h"
#include "config/problems.h"
#include "config/value.h"

namespace roformer {

// "file:line" of a node.
SourceLocation location_of(const std::filesystem::path& file, const YAML::Node& node);
// "a list", "a section", "\"text\"" or "nothing", for messages.
std::string describe(const YAML::Node& node);

// A list or map on one line, in the form that a flag takes.
std::string flow_text(const YAML::Node& node);

// The pairs of a map in the order of the file. A repeated key or a key that is no word is a problem
// and is left out.
struct YamlEntry {
  std::string key;
  SourceLocation where;
  YAML::Node value;
};
std::vector<YamlEntry> entries_of(const std::filesystem::path& file, const YAML::Node& map,
                                  Problems& problems);

// A value in a YAML file, or no value.
class YamlNode {
 public:
  static constexpr const char* kMap = "`key: value` pairs";
  static constexpr bool kNumbersItems = false;  // messages tell items apart by their lines

  YamlNode() = default;
  // `mark`: the place of the value or of its key.
  YamlNode(YAML::Node value, const YAML::Mark& mark)
      : value_(std::move(value)), mark_(mark), there_(true) {}

  YamlNode(const YamlNode&) = default;
  YamlNode& operator=(const YamlNode&) = delete;  // YAML::Node's assignment would change the tree

  const YAML::Node& value() const { return value_; }
  const YAML::Mark& mark() const { return mark_; }
  bool is_there() const { return there_; }
  bool means_default() const { return !there_; }
  bool is_map() const { return there_ && value_.IsMap(); }
  bool is_list() const { return there_ && value_.IsSequence(); }
  YamlNode child(const std::string& name) const;
  std::vector<YamlNode> items() const;
  std::vector<std::string> names() const;
  std::string describe() const { return roformer::describe(value_); }

  // Returns false if the value has another type; `hint` may then say how to write it.
  bool read(std::string& value, std::string& hint) const;
  bool read(std::int64_t& value, std::string& hint) const;
  bool read(std::uint64_t& value, std::string& hint) const;
  bool read(double& value, std::string& hint) const;
  bool read(bool& value, std::string& hint) const;

 private:
  YAML::Node value_;
  YAML::Mark mark_;
  bool there_ = false;
};

class YamlFields : public FieldReader<YamlFields, YamlNode> {
 public:
  using Read = std::function<void(const YamlFields&)>;

  // Reads the fields of `map`. Adds to `problems` a value that is no map, the values that `read`
  // refuses, and the fields that it did not ask for. Messages put `path` before the names:
  // "study.name" for the path "study". Relative paths start at the folder of `file`.
  static void read_map(const std::filesystem::path& file, const YAML::Node& map,
                       const std::string& path, Problems& problems, const Read& read);
  // Reads each map of a list that is the text of one key, `[{steps: 1000}, {steps: 5}]`; an empty
  // text is an empty list. Throws InvalidValue with `wanted` and the mistake in the `item`
  // ("stage").
  static void read_list(std::string_view text, const std::filesystem::path& folder,
                        const std::string& item, const char* wanted, const Read& read);
  // Reads the map in a field if the field is given; each map of a list; and a map among other
  // items.
  void in(const std::string& name, const Read& read) const;
  void each(const std::string& name, const Read& read) const;
  void in(const YamlNode& item, const std::string& name, const Read& read) const;
  std::vector<YamlNode> items(const std::string& name) const;  // empty if the field is missing

  std::filesystem::path file(const std::string& name) const;  // empty if the field is missing
  std::vector<std::filesystem::path> files(const std::string& name) const;
  // A word that `parse` understands; `parse` throws an Error for any other.
  template <class Choice, class Parse>
  Choice parsed(const std::string& name, const Choice& standard, Parse parse) const {
    const std::string word = text(name, "");
    if (word.empty()) return standard;
    try {
      return parse(word);
    } catch (const Error& error) {
      complain(name, error.parts().message);
      return standard;
    }
  }

  void refuse(const std::string& name, const std::string& wanted, std::string hint = "") const;
  void refuse(const YamlNode& item, const std::string& name, const std::string& wanted) const {
    refuse_node(item, name, wanted, "");
  }
  // Adds a problem at the field, or at this map if the field is missing or the name is "".
  void complain(const std::string& name, std::string message, std::string hint = "") const;
  SourceLocation where(const std::string& name = "") const;
  SourceLocation where(const YamlNode& item) const;

  // FieldReader uses this.
  static constexpr const char* kUnknown = "unknown key";
  void report(const YamlNode& node, const std::string& field, const std::string& message,
              const std::string& hint) const;
  void report_missing(const std::string& field) const { report(map(), field, "is missing", ""); }
  YamlFields of_map(const YamlNode& map, const std::string& path) const {
    return {map, path, file_};
  }
  static std::string message_of(const YamlNode& node, const std::string& wanted) {
    return "got " + node.describe() + ", wanted " + wanted;
  }

 private:
  struct Found {
    int position;  // in the order of the file
    Problem problem;
  };
  struct File {
    std::filesystem::path path;
    Problems& problems;
    SourceLocation place;      // shown in messages; empty: the line of each value
    std::vector<Found> found;  // the problems, to be sorted by their position in the file
  };
  std::shared_ptr<File> file_;

  static void read_root(const YAML::Node& map, const std::string& path, const Read& read,
                        const std::shared_ptr<File>& file);
  YamlFields(YamlNode map, const std::string& path, std::shared_ptr<File> file)
      : FieldReader(std::move(map), path), file_(std::move(file)) {}
  void read_all(const Read& read) const;
};

}  // namespace roformer
