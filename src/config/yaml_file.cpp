#include "config/yaml_file.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/shipped.h"
#include "config/schema.h"
#include "config/suggest.h"
#include "config/yaml_text.h"

namespace roformer {
namespace {

const std::set<std::string> kStudySections{"study", "matrix", "variants", "evaluate", "tune"};

// The sections that the schema has: "model", "data", "data.masking", "position.rope", ...
const std::set<std::string>& sections() {
  static const auto names = [] {
    std::set<std::string> made;
    for (const Key& key : schema()) {
      for (std::size_t dot = key.name.find('.'); dot != std::string::npos;
           dot = key.name.find('.', dot + 1)) {
        made.insert(key.name.substr(0, dot));
      }
    }
    for (const std::string& scheme : find_key("position.scheme")->words) {
      // the section of a scheme without options may exist if it is empty
      made.insert("position." + scheme);
    }
    return made;
  }();
  return names;
}

bool is_section(const std::string& name) {
  return sections().contains(name);
}

// A key with a list as its value, or `position.OPTION` if some scheme has such a list.
bool is_list(const std::string& name) {
  if (const Key* const key = find_key(name)) return key->type == KeyType::list;
  const std::size_t dot = name.rfind('.');
  if (dot == std::string::npos || name.substr(0, dot) != "position") return false;
  return std::ranges::any_of(schema(), [option = name.substr(dot)](const Key& key) {
    return key.type == KeyType::list && !key.scheme().empty() &&
           key.name == fmt::format("position.{}{}", key.scheme(), option);
  });
}

// All keys that a file may contain, for suggestions.
const std::vector<std::string>& known_names() {
  static const auto names = [] {
    std::vector<std::string> made = assignable_keys();
    made.emplace_back("extends");
    made.insert(made.end(), sections().begin(), sections().end());
    made.insert(made.end(), kStudySections.begin(), kStudySections.end());
    return made;
  }();
  return names;
}

YAML::Node parse_yaml(const std::filesystem::path& path) {
  std::error_code error;
  if (const std::filesystem::path file = located(path);
      !std::filesystem::is_regular_file(file, error)) {
    const bool exists = std::filesystem::exists(file, error);
    const std::string searched = exists ? "" : searched_folders(path);
    throw_usage(
        path.string(), exists ? "is not a configuration file" : "no such file",
        (searched.empty() ? "" : searched + "; ") + "a YAML file, for instance one of configs/");
  }
  return parse_document_of(path, "one `key: value` per line, sections indented with spaces");
}

// Gives each file one name. Keeps the given name for text that is only in memory.
std::filesystem::path one_name(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path name = std::filesystem::weakly_canonical(path, error);
  return error ? path.lexically_normal() : name;
}

// Walks through the sections of one file.
class Flattener {
 public:
  // `list`: the place at which the list of keys begins.
  Flattener(const std::filesystem::path& file, SourceLocation list, Problems& problems)
      : file_(file), list_(std::move(list)), problems_(problems) {}

  std::vector<Assignment> assignments;

  void add(const std::string& name, const YamlEntry& entry) {
    const YAML::Node& value = entry.value;
    const bool section = is_section(name);
    if (section && is_value_of_section(name, value)) {
      assign(name, entry, value.IsMap() ? flow_text(value) : value.Scalar());
    } else if (value.IsMap() && section) {
      // Enters only known sections, which bounds the depth for any input.
      for (const YamlEntry& inner : entries_of(file_, value, problems_)) {
        add(name + "." + inner.key, inner);
      }
    } else if (section && name != "position") {
      if (!value.IsNull()) refuse(name, entry, "a section of keys");
    } else if ((value.IsSequence() || value.IsMap()) && is_list(name)) {
      assign(name, entry, flow_text(value));
    } else if (value.IsMap() || value.IsSequence()) {
      refuse(name, entry, "a single value");
    } else if (const auto [first, added] = seen_.emplace(name, entry.where); !added) {
      problem(name, entry, "given twice, first at " + first->second, "");
    } else {
      assign(name, entry, value.IsNull() ? "" : value.Scalar());
    }
  }

 private:
  const std::filesystem::path& file_;
  SourceLocation list_;
  Problems& problems_;
  std::map<std::string, SourceLocation> seen_;  // full key -> its place

  void assign(const std::string& name, const YamlEntry& entry, std::string text) {
    assignments.push_back({.key = name,
                           .text = std::move(text),
                           .where = entry.where,
                           .folder = file_.parent_path(),
                           .list = list_});
  }

  // Whether the section has such a value: `position.formula: FILE#NAME`, `position.layers: {0-2:
  // rope}`.
  static bool is_value_of_section(const std::string& name, const YAML::Node& value) {
    if (value.IsScalar()) return is_shorthand(name);
    if (!value.IsMap()) return false;
    return std::ranges::any_of(value, [&](const auto& pair) {
      return pair.first.IsScalar() && is_shorthand_map_key(name, pair.first.Scalar());
    });
  }

  void problem(const std::string& name, const YamlEntry& entry, std::string message,
               std::string hint) {
    problems_.add(entry.where, name, std::move(message), std::move(hint));
  }

  void refuse(const std::string& name, const YamlEntry& entry, const std::string& wanted) {
    if (!is_assignable(name) && !is_section(name)) {
      problem(name, entry, entry.value.IsMap() ? "unknown section" : "unknown key",
              suggestion(name, known_names()));
    } else {
      problem(name, entry, "got " + describe(entry.value) + ", wanted " + wanted,
              entry.value.IsSequence() ? "a study lists values under `matrix:`" : "");
    }
  }
};

// Reads a file and, before it, the file that it extends.
class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}

  void read(const std::filesystem::path& path, YamlFile& result) {
    visited_.push_back(one_name(path));
    const YAML::Node root = parse_yaml(path);
    if (root.IsNull()) {
      // A file with only comments means the defaults; a file of 0 bytes was cut short.
      if (std::error_code error; std::filesystem::file_size(located(path), error) == 0) {
        problems_.add(path.string(), "", "the file is empty",
                      "`roformer config keys` lists what it may say");
      }
      return;
    }
    if (!root.IsMap()) {
      problems_.add({.where = location_of(path, root),
                     .key = "",
                     // The message does not repeat the text: `extends` may name any file.
                     .message = "got " + (root.IsScalar() ? "a text" : describe(root)) +
                                ", wanted `key: value` lines",
                     .hint = ""});
      return;
    }
    if (root["files"] && !is_assignable("files")) {
      problems_.add(location_of(path, root["files"]), "files",
                    "this file is a recipe of data, not a configuration",
                    "roformer data prepare " + path.string() + " --output FOLDER");
      return;
    }
    std::vector<YamlEntry> settings;
    for (const YamlEntry& entry : entries_of(path, root, problems_)) {
      if (entry.key == "extends") {
        extend(path, entry, result);
      } else if (!kStudySections.contains(entry.key)) {
        settings.push_back(entry);
      }
    }
    // The study's sections follow those of the extended file, wherever `extends` is in this file.
    for (const std::string& name : kStudySections) {
      if (const YAML::Node node = root[name]) {
        result.sections[name] = {.file = path, .line = node.Mark().line + 1, .node = node};
      }
    }
    for (Assignment& assignment : assignments_of(path, settings, problems_)) {
      result.assignments.push_back(std::move(assignment));
    }
  }

 private:
  Problems& problems_;
  std::vector<std::filesystem::path> visited_;  // each file extends the next

  void extend(const std::filesystem::path& path, const YamlEntry& entry, YamlFile& result) {
    const auto problem = [&](std::string message, std::string hint) {
      problems_.add(entry.where, "extends", std::move(message), std::move(hint));
    };
    if (!entry.value.IsScalar() || entry.value.Scalar().empty()) {
      problem("got " + describe(entry.value) + ", wanted the path of a file", "");
      return;
    }
    std::filesystem::path base = (path.parent_path() / entry.value.Scalar()).lexically_normal();
    const auto is_file = [](const std::filesystem::path& name) {
      std::error_code error;
      return std::filesystem::is_regular_file(located(name), error);
    };
    // A file in any folder may extend "configs/pretraining/small.yaml", which comes with the
    // program.
    if (!is_file(base) && is_file(entry.value.Scalar())) base = entry.value.Scalar();
    if (!is_file(base)) {
      const std::string searched = searched_folders(entry.value.Scalar());
      problem(base.string() + ": no such file",
              "the path is relative to the file that says extends" +
                  (searched.empty() ? "" : ", or " + searched));
    } else if (std::ranges::find(visited_, one_name(base)) != visited_.end()) {
      problem(base.string() + " extends this file again, a circle", "");
    } else {
      read(base, result);
    }
  }
};

}  // namespace

std::vector<Assignment> assignments_of(const std::filesystem::path& file,
                                       const std::vector<YamlEntry>& entries, Problems& problems) {
  if (entries.empty()) return {};
  Flattener flattener(file, entries.front().where, problems);
  for (const YamlEntry& entry : entries) flattener.add(entry.key, entry);
  return expand_shorthands(flattener.assignments, problems);
}

YamlFile read_yaml_file(const std::filesystem::path& path, Problems& problems) {
  YamlFile result;
  Reader(problems).read(path, result);
  return result;
}

}  // namespace roformer
