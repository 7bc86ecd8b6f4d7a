// The axes that a file gives: `matrix:`, keys with lists of values, and `variants:`, named sets of
// keys.
#include <filesystem>
#include <utility>

#include "config/assignment.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/suggest.h"
#include "experiments/declaration/study_axis.h"

namespace roformer {
namespace {

using Section = YamlFile::Section;

class AxisReader {
 public:
  // `matrix`: the name of the section that lists values.
  AxisReader(const Section& section, Problems& problems, std::string matrix = "matrix")
      : section_(section), problems_(problems), matrix_(std::move(matrix)) {}

  void matrix(std::vector<MatrixAxis>& axes) {
    if (!wanted(section_.node, section_.node.IsMap(), matrix_, "keys with lists")) return;
    for (const YamlEntry& entry : entries_of(section_.file, section_.node, problems_)) {
      const std::string name = matrix_ + "." + entry.key;
      if (refuse_name_of_run(entry.where, entry.key, matrix_ + ".")) continue;
      if (!is_assignable(entry.key)) {
        problems_.add(entry.where, name, "unknown key", suggestion(entry.key, assignable_keys()));
      } else if (!entry.value.IsSequence() || entry.value.size() == 0) {
        const std::string got = entry.value.IsSequence() ? "an empty list" : describe(entry.value);
        problems_.add(entry.where, name, "got " + got + ", wanted a list of values",
                      entry.value.IsScalar() ? "[" + entry.value.Scalar() + "]" : "");
      } else {
        axes.push_back(list_axis(entry));
      }
    }
  }

  void variants(std::vector<MatrixAxis>& axes) {
    const bool list = section_.node.IsSequence() && section_.node.size() > 0;
    if (!wanted(section_.node, list, "variants", "a list of named sets of keys")) return;
    MatrixAxis axis{
        .key = "variant", .where = location_of(section_.file, section_.node), .values = {}};
    for (const YAML::Node& node : section_.node) {
      if (!wanted(node, node.IsMap(), "variants", "`name:` and keys")) continue;
      MatrixValue variant;
      std::vector<YamlEntry> keys;
      for (const YamlEntry& entry : entries_of(section_.file, node, problems_)) {
        if (entry.key == "name") {
          const bool word = entry.value.IsScalar() && !entry.value.Scalar().empty();
          if (wanted(entry.value, word, "variants.name", "a word")) {
            variant.label = entry.value.Scalar();
          }
        } else if (!refuse_name_of_run(entry.where, entry.key)) {
          keys.push_back(entry);
        }
      }
      if (variant.label.empty()) {
        problems_.add(location_of(section_.file, node), "variants", "a variant without a name");
        continue;
      }
      variant.assignments = assignments_of(section_.file, keys, problems_);
      axis.values.push_back(std::move(variant));
    }
    if (!axis.values.empty()) axes.push_back(std::move(axis));
  }

 private:
  const Section& section_;
  Problems& problems_;
  std::string matrix_;

  bool refuse_name_of_run(const SourceLocation& where, const std::string& key,
                          const std::string& section = "") {
    if (key != "run" && key != "runs") return false;
    problems_.add(where, section + key, "a study names its runs itself");
    return true;
  }

  bool wanted(const YAML::Node& node, bool good, const std::string& key, const std::string& what) {
    if (good) return true;
    problems_.add(location_of(section_.file, node), key,
                  "got " + describe(node) + ", wanted " + what);
    return false;
  }

  MatrixAxis list_axis(const YamlEntry& entry) {
    MatrixAxis axis{.key = axis_key(entry.key), .where = entry.where, .values = {}};
    for (const YAML::Node& node : entry.value) {
      const std::string name = matrix_ + "." + entry.key;
      if (node.IsMap() && (axis.key == "position" || is_shorthand(entry.key))) {
        MatrixValue value = map_value(entry.key, node);
        if (!value.label.empty()) axis.values.push_back(std::move(value));
        continue;
      }
      const Key* const key = find_key(axis.key);
      if (node.IsMap() && (key == nullptr || key->type != KeyType::list)) {
        value_with_keys(name, entry.key, node, axis);
        continue;
      }
      if (!wanted(node, node.IsScalar(), name, "a single value")) continue;
      axis.values.push_back(single_value(entry.key, node));
    }
    return axis;
  }

  MatrixValue single_value(const std::string& key, const YAML::Node& node) {
    const Assignment one{.key = key,
                         .text = node.Scalar(),
                         .where = location_of(section_.file, node),
                         .folder = section_.file.parent_path()};
    return {.label = value_label(key, node.Scalar()),
            .assignments = expand_shorthands({one}, problems_)};
  }

  // `probe.kind: [copy, {addition: {training.steps: 8000}}]`: keys that come with a value.
  void value_with_keys(const std::string& name, const std::string& key, const YAML::Node& node,
                       MatrixAxis& axis) {
    const std::string what = "a single value, or {VALUE: {KEY: ...}}";
    if (!wanted(node, node.size() == 1, name, what)) return;
    const auto pair = *node.begin();
    if (!wanted(pair.first, pair.first.IsScalar(), name, what)) return;
    if (!wanted(pair.second, pair.second.IsMap(), name + "." + pair.first.Scalar(),
                "keys that come with the value")) {
      return;
    }
    MatrixValue value = single_value(key, pair.first);
    for (Assignment& one : assignments_of(
             section_.file, entries_of(section_.file, pair.second, problems_), problems_)) {
      if (refuse_name_of_run(one.where, one.key)) continue;
      if (may_mean_the_same(one.key, axis.key)) {
        problems_.add(one.where, one.key, "is the value itself, and set again beside it");
        continue;
      }
      value.assignments.push_back(std::move(one));
    }
    axis.values.push_back(std::move(value));
  }

  // `position: [{alibi: {variant: causal}}]` means alibi. Two sections, or none, choose no scheme.
  void choose_by_section(const std::string& key, const YAML::Node& node, MatrixValue& value) {
    const bool one =
        node.size() == 1 && (*node.begin()).first.IsScalar() && (*node.begin()).second.IsMap();
    const std::string name = one ? (*node.begin()).first.Scalar() : "";
    if (find_position_facts(name) != nullptr) {
      value.label = name + " " + flow_text((*node.begin()).second);
      value.assignments.push_back(
          {.key = "position.scheme", .text = name, .where = location_of(section_.file, node)});
      return;
    }
    problems_.add(location_of(section_.file, node), matrix_ + "." + key,
                  "got " + flow_text(node) + ", which chooses no scheme", "{scheme: NAME, ...}");
  }

  // The name of `{name: ours, bias: ...}`, or the text of options without a name.
  static std::string label_of_options(const YAML::Node& options, const std::string& before) {
    const YAML::Node name = options["name"];
    if (!name || !name.IsScalar() || name.Scalar().empty()) return before + flow_text(options);
    // A formula may have the name of a scheme, which then has another row.
    return find_position_facts(name.Scalar()) == nullptr ? name.Scalar()
                                                         : "formula " + name.Scalar();
  }

  // The scheme, followed by the other options that the map sets.
  static std::string map_label(const std::string& key, const YAML::Node& node,
                               const std::string& scheme) {
    if (is_shorthand(key)) return label_of_options(node, "");
    std::string label = scheme;
    YAML::Node others;
    for (const auto& pair : node) {
      const std::string name = pair.first.IsScalar() ? pair.first.Scalar() : "";
      if (name == "scheme") continue;
      const std::string option = "position." + name;
      if (name != scheme || !is_shorthand(option)) {
        others[pair.first] = pair.second;
      } else if (pair.second.IsScalar()) {
        label = value_label(option, pair.second.Scalar());
      } else {
        const bool value = pair.second.size() > 0 &&
                           is_shorthand_map_key(option, (*pair.second.begin()).first.Scalar());
        label = label_of_options(pair.second, value ? "" : name + " ");
      }
    }
    return others.size() > 0 ? label + " " + flow_text(others) : label;
  }

  // `position: [{formula: FILE#NAME}, {layers: {0-2: rope, 3: none}}]`: keys of one value.
  MatrixValue map_value(const std::string& key, const YAML::Node& node) {
    MatrixValue value;
    value.assignments = assignments_of(
        section_.file,
        {{.key = axis_key(key), .where = location_of(section_.file, node), .value = node}},
        problems_);
    for (const Assignment& one : value.assignments) {
      if (one.key == "position.scheme") value.label = one.text;
    }
    if (value.label.empty()) {
      choose_by_section(key, node, value);
    } else {
      value.label = map_label(key, node, value.label);
    }
    return value;
  }
};

}  // namespace

std::string axis_key(const std::string& key) {
  return key == "position.scheme" ? "position" : key;
}

std::string value_label(const std::string& key, const std::string& text) {
  const std::size_t sign = is_shorthand(key) ? text.rfind('#') : std::string::npos;
  if (sign == std::string::npos) return text;
  const std::string name = text.substr(sign + 1);
  // A formula may have the name of a scheme, which then has another row.
  const bool taken = find_position_facts(name) != nullptr;
  return taken ? std::filesystem::path(text.substr(0, sign)).filename().string() + "#" + name
               : name;
}

void read_matrix(const Section& section, const std::string& name, std::vector<MatrixAxis>& axes,
                 Problems& problems) {
  AxisReader(section, problems, name).matrix(axes);
}

void read_variants(const Section& section, std::vector<MatrixAxis>& axes, Problems& problems) {
  AxisReader(section, problems).variants(axes);
}

}  // namespace roformer
