#include "experiments/declaration/study_sections.h"

#include <filesystem>
#include <utility>

#include "config/position_facts.h"
#include "config/schema.h"
#include "config/shorthand.h"
#include "config/suggest.h"
#include "config/value.h"

namespace roformer {
namespace {

using Section = YamlFile::Section;

class SectionReader {
 public:
  // `matrix`: what the file calls the section that lists values.
  explicit SectionReader(Problems& problems, std::string matrix = "matrix")
      : problems_(problems), matrix_(std::move(matrix)) {}

  void study(const Section& section, StudySettings& study) {
    if (!wanted(section, section.node, section.node.IsMap(), "study", "a section")) return;
    static const std::vector<std::string> kKeys{
        "name", "metric",    "columns",   "paper",           "choose", "spread",
        "note", "trainings", "reference", "reference_lines", "version"};
    for (const YamlEntry& entry : entries_of(section.file, section.node, problems_)) {
      if (entry.key == "name") {
        text(entry, "study.name", study.name);
      } else if (entry.key == "metric") {
        text(entry, "study.metric", study.metric);
        metrics_.push_back({.key = "study.metric", .name = study.metric, .where = entry.where});
      } else if (entry.key == "trainings") {
        text(entry, "study.trainings", study.trainings);
      } else if (entry.key == "choose") {
        text(entry, "study.choose", study.choose);
      } else if (entry.key == "spread") {
        text(entry, "study.spread", study.spread);
      } else if (entry.key == "reference") {
        text(entry, "study.reference", study.reference);
      } else if (entry.key == "reference_lines") {
        reference_lines(section, entry, study);
      } else if (entry.key == "version") {
        version(entry, study.version);
      } else if (entry.key == "note") {
        text(entry, "study.note", study.note);
      } else if (entry.key == "columns") {
        columns(section, entry, study);
      } else if (entry.key == "paper") {
        paper(section, entry, study);
      } else {
        problems_.add(entry.where, "study." + entry.key, "unknown key",
                      suggestion(entry.key, kKeys));
      }
    }
  }

  void matrix(const Section& section, std::vector<MatrixAxis>& axes) {
    if (!wanted(section, section.node, section.node.IsMap(), matrix_, "keys with lists")) return;
    for (const YamlEntry& entry : entries_of(section.file, section.node, problems_)) {
      const std::string name = matrix_ + "." + entry.key;
      if (refuse_name_of_run(entry.where, entry.key, matrix_ + ".")) continue;
      if (!is_assignable(entry.key)) {
        problems_.add(entry.where, name, "unknown key", suggestion(entry.key, assignable_keys()));
      } else if (!entry.value.IsSequence() || entry.value.size() == 0) {
        const std::string got = entry.value.IsSequence() ? "an empty list" : describe(entry.value);
        problems_.add(entry.where, name, "got " + got + ", wanted a list of values",
                      entry.value.IsScalar() ? "[" + entry.value.Scalar() + "]" : "");
      } else {
        axes.push_back(list_axis(section, entry));
      }
    }
  }

  void variants(const Section& section, std::vector<MatrixAxis>& axes) {
    const bool list = section.node.IsSequence() && section.node.size() > 0;
    if (!wanted(section, section.node, list, "variants", "a list of named sets of keys")) return;
    MatrixAxis axis{
        .key = "variant", .where = location_of(section.file, section.node), .values = {}};
    for (const YAML::Node& node : section.node) {
      if (!wanted(section, node, node.IsMap(), "variants", "`name:` and keys")) continue;
      MatrixValue variant;
      std::vector<YamlEntry> keys;
      for (const YamlEntry& entry : entries_of(section.file, node, problems_)) {
        if (entry.key == "name") {
          text(entry, "variants.name", variant.label);
        } else if (!refuse_name_of_run(entry.where, entry.key)) {
          keys.push_back(entry);
        }
      }
      if (variant.label.empty()) {
        problems_.add(location_of(section.file, node), "variants", "a variant without a name", "");
        continue;
      }
      variant.assignments = assignments_of(section.file, keys, problems_);
      axis.values.push_back(std::move(variant));
    }
    if (!axis.values.empty()) axes.push_back(std::move(axis));
  }

  std::vector<NamedMetric> take_metrics() { return std::move(metrics_); }

 private:
  Problems& problems_;
  std::string matrix_;
  std::vector<NamedMetric> metrics_;

  bool refuse_name_of_run(const SourceLocation& where, const std::string& key,
                          const std::string& section = "") {
    if (key != "run" && key != "runs") return false;
    problems_.add(where, section + key, "a study names its runs itself", "");
    return true;
  }

  bool wanted(const Section& section, const YAML::Node& node, bool good, const std::string& key,
              const std::string& what) {
    if (good) return true;
    problems_.add(location_of(section.file, node), key,
                  "got " + describe(node) + ", wanted " + what, "");
    return false;
  }

  void text(const YamlEntry& entry, const std::string& key, std::string& result) {
    if (entry.value.IsScalar() && !entry.value.Scalar().empty()) {
      result = entry.value.Scalar();
    } else {
      problems_.add(entry.where, key, "got " + describe(entry.value) + ", wanted a word", "");
    }
  }

  void version(const YamlEntry& entry, std::int64_t& result) {
    try {
      result = parse_integer(entry.value.IsScalar() ? entry.value.Scalar() : "", between(1, 1e6));
    } catch (const InvalidValue& invalid) {
      problems_.add(entry.where, "study.version",
                    "got " + describe(entry.value) + ", wanted " + invalid.what(), "");
    }
  }

  void columns(const Section& section, const YamlEntry& entry, StudySettings& study) {
    if (!wanted(section, entry.value, entry.value.IsSequence(), "study.columns",
                "a list of metrics")) {
      return;
    }
    study.columns.clear();
    for (const YAML::Node& node : entry.value) {
      if (wanted(section, node, node.IsScalar(), "study.columns", "the name of a metric")) {
        study.columns.push_back(node.Scalar());
        metrics_.push_back({.key = "study.columns",
                            .name = node.Scalar(),
                            .where = location_of(section.file, node)});
      }
    }
  }

  void reference_lines(const Section& section, const YamlEntry& entry, StudySettings& study) {
    const std::string wanted_lines = "a list of {label, value}, or of the word unigram";
    if (!wanted(section, entry.value, entry.value.IsSequence(), "study.reference_lines",
                wanted_lines)) {
      return;
    }
    study.reference_lines.clear();
    for (const YAML::Node& node : entry.value) {
      if (node.IsScalar() && node.Scalar() == kUnigramLine) {
        study.reference_lines.push_back({.label = kUnigramLine});
      } else if (wanted(section, node, node.IsMap(), "study.reference_lines", wanted_lines)) {
        study.reference_lines.push_back(reference_line(section, node));
      }
    }
  }

  StudyReferenceLine reference_line(const Section& section, const YAML::Node& node) {
    StudyReferenceLine line;
    std::string value;
    for (const YamlEntry& field : entries_of(section.file, node, problems_)) {
      if (field.key == "label") {
        text(field, "study.reference_lines.label", line.label);
      } else if (field.key == "value") {
        text(field, "study.reference_lines.value", value);
      } else {
        problems_.add(field.where, "study.reference_lines." + field.key, "unknown key",
                      suggestion(field.key, {"label", "value"}));
      }
    }
    line.value = number(section, node, "study.reference_lines.value", value);
    return line;
  }

  double number(const Section& section, const YAML::Node& node, const std::string& key,
                const std::string& text) {
    try {
      return parse_number(text, {});
    } catch (const InvalidValue& invalid) {
      problems_.add(location_of(section.file, node), key,
                    "got \"" + text + "\", wanted " + invalid.what(), "");
      return 0;
    }
  }

  void paper(const Section& section, const YamlEntry& entry, StudySettings& study) {
    if (!wanted(section, entry.value, entry.value.IsSequence(), "study.paper",
                "a list of {row, metric, value, source}")) {
      return;
    }
    for (const YAML::Node& node : entry.value) {
      if (!wanted(section, node, node.IsMap(), "study.paper", "{row, metric, value, source}")) {
        continue;
      }
      study.paper.push_back(paper_value(section, node));
    }
  }

  PaperValue paper_value(const Section& section, const YAML::Node& node) {
    PaperValue result;
    std::string value;
    static const std::vector<std::string> kKeys{"row", "metric", "value", "source", "model"};
    for (const YamlEntry& field : entries_of(section.file, node, problems_)) {
      if (field.key == "row") {
        text(field, "study.paper.row", result.row);
      } else if (field.key == "metric") {
        text(field, "study.paper.metric", result.metric);
        metrics_.push_back(
            {.key = "study.paper.metric", .name = result.metric, .where = field.where});
      } else if (field.key == "value") {
        text(field, "study.paper.value", value);
      } else if (field.key == "source") {
        text(field, "study.paper.source", result.source);
      } else if (field.key == "model") {
        text(field, "study.paper.model", result.model);
      } else {
        problems_.add(field.where, "study.paper." + field.key, "unknown key",
                      suggestion(field.key, kKeys));
      }
    }
    const SourceLocation where = location_of(section.file, node);
    if (result.row.empty() || result.metric.empty()) {
      problems_.add(where, "study.paper", "a value without row or metric", "");
    }
    result.value = number(section, node, "study.paper.value", value);
    return result;
  }

  MatrixAxis list_axis(const Section& section, const YamlEntry& entry) {
    MatrixAxis axis{.key = axis_key(entry.key), .where = entry.where, .values = {}};
    for (const YAML::Node& node : entry.value) {
      const std::string name = matrix_ + "." + entry.key;
      if (node.IsMap() && (axis.key == "position" || is_shorthand(entry.key))) {
        MatrixValue value = map_value(section, entry.key, node);
        if (!value.label.empty()) axis.values.push_back(std::move(value));
        continue;
      }
      const Key* const key = find_key(axis.key);
      if (node.IsMap() && (key == nullptr || key->type != KeyType::list)) {
        value_with_keys(section, name, entry.key, node, axis);
        continue;
      }
      if (!wanted(section, node, node.IsScalar(), name, "a single value")) continue;
      axis.values.push_back(single_value(section, entry.key, node));
    }
    return axis;
  }

  MatrixValue single_value(const Section& section, const std::string& key, const YAML::Node& node) {
    const Assignment one{.key = key,
                         .text = node.Scalar(),
                         .where = location_of(section.file, node),
                         .folder = section.file.parent_path()};
    return {.label = value_label(key, node.Scalar()),
            .assignments = expand_shorthands({one}, problems_)};
  }

  // `probe.kind: [copy, {addition: {training.steps: 8000}}]`: keys that come with a value.
  void value_with_keys(const Section& section, const std::string& name, const std::string& key,
                       const YAML::Node& node, MatrixAxis& axis) {
    const std::string what = "a single value, or {VALUE: {KEY: ...}}";
    if (!wanted(section, node, node.size() == 1, name, what)) return;
    const auto pair = *node.begin();
    if (!wanted(section, pair.first, pair.first.IsScalar(), name, what)) return;
    if (!wanted(section, pair.second, pair.second.IsMap(), name + "." + pair.first.Scalar(),
                "keys that come with the value")) {
      return;
    }
    MatrixValue value = single_value(section, key, pair.first);
    for (Assignment& one : assignments_of(
             section.file, entries_of(section.file, pair.second, problems_), problems_)) {
      if (refuse_name_of_run(one.where, one.key)) continue;
      if (may_mean_the_same(one.key, axis.key)) {
        problems_.add(one.where, one.key, "is the value itself, and set again beside it", "");
        continue;
      }
      value.assignments.push_back(std::move(one));
    }
    axis.values.push_back(std::move(value));
  }

  static std::string flow_text(const YAML::Node& node) {
    YAML::Emitter text;
    text.SetMapFormat(YAML::Flow);
    text.SetSeqFormat(YAML::Flow);
    text << node;
    return text.c_str();
  }

  // `position: [{alibi: {variant: causal}}]` means alibi; of two sections, or none, nobody knows.
  void choose_by_section(const Section& section, const std::string& key, const YAML::Node& node,
                         MatrixValue& value) {
    const bool one =
        node.size() == 1 && (*node.begin()).first.IsScalar() && (*node.begin()).second.IsMap();
    const std::string name = one ? (*node.begin()).first.Scalar() : "";
    if (find_position_facts(name) != nullptr) {
      value.label = name + " " + flow_text((*node.begin()).second);
      value.assignments.push_back(
          {.key = "position.scheme", .text = name, .where = location_of(section.file, node)});
      return;
    }
    problems_.add(location_of(section.file, node), matrix_ + "." + key,
                  "got " + flow_text(node) + ", which chooses no scheme", "{scheme: NAME, ...}");
  }

  // Of `{name: ours, bias: ...}` the name; of what has none its text.
  static std::string label_of_options(const YAML::Node& options, const std::string& before) {
    const YAML::Node name = options["name"];
    if (!name || !name.IsScalar() || name.Scalar().empty()) return before + flow_text(options);
    // One that is called as a scheme is another row than that.
    return find_position_facts(name.Scalar()) == nullptr ? name.Scalar()
                                                         : "formula " + name.Scalar();
  }

  // What chooses the scheme, and behind it what else is said.
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
  MatrixValue map_value(const Section& section, const std::string& key, const YAML::Node& node) {
    MatrixValue value;
    value.assignments = assignments_of(
        section.file,
        {{.key = axis_key(key), .where = location_of(section.file, node), .value = node}},
        problems_);
    for (const Assignment& one : value.assignments) {
      if (one.key == "position.scheme") value.label = one.text;
    }
    if (value.label.empty()) {
      choose_by_section(section, key, node, value);
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
  // A formula that is called as a scheme is another row than that.
  const bool taken = find_position_facts(name) != nullptr;
  return taken ? std::filesystem::path(text.substr(0, sign)).filename().string() + "#" + name
               : name;
}

std::vector<NamedMetric> read_study_section(const Section& section, StudySettings& study,
                                            Problems& problems) {
  SectionReader reader(problems);
  reader.study(section, study);
  return reader.take_metrics();
}

void read_matrix(const Section& section, const std::string& name, std::vector<MatrixAxis>& axes,
                 Problems& problems) {
  SectionReader(problems, name).matrix(section, axes);
}

void read_variants(const Section& section, std::vector<MatrixAxis>& axes, Problems& problems) {
  SectionReader(problems).variants(section, axes);
}

}  // namespace roformer
