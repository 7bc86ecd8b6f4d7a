#include "config/study_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "config/schema.h"
#include "config/suggest.h"
#include "config/yaml_file.h"

namespace roformer {
namespace {

constexpr std::size_t kMostRuns = 10'000;  // more is a slip, not a plan

// A value of an axis: what it is called and what it sets.
struct AxisValue {
  std::string label;
  std::vector<Assignment> assignments;
};

struct Axis {
  std::string key;
  std::string place;
  std::vector<AxisValue> values;
};

using Section = YamlFile::Section;

std::string axis_key(const std::string& key) {
  return key == "position.scheme" ? "position" : key;
}

// "rope", "seed1", "learning_rate0.001": the part of a run's name that an axis gives.
std::string name_part(const Axis& axis, const std::string& label) {
  const bool plain = axis.key == "position" || axis.key == "variant";
  std::string text = plain ? label : axis.key.substr(axis.key.rfind('.') + 1) + label;
  for (char& c : text) {
    const bool kept =
        std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-' || c == '+';
    if (!kept) c = '_';
  }
  return text;
}

// Reads the sections that only a study has.
class SectionReader {
 public:
  SectionReader(StudySettings& study, Problems& problems) : study_(study), problems_(problems) {}

  void study(const Section& section) {
    if (!wanted(section, section.node, section.node.IsMap(), "study", "a section")) return;
    static const std::vector<std::string> kKeys{"name",   "metric", "columns", "paper",
                                                "choose", "spread", "note", "trainings"};
    for (const YamlEntry& entry : entries_of(section.file, section.node, problems_)) {
      if (entry.key == "name") {
        text(entry, "study.name", study_.name);
      } else if (entry.key == "metric") {
        text(entry, "study.metric", study_.metric);
      } else if (entry.key == "trainings") {
        text(entry, "study.trainings", study_.trainings);
      } else if (entry.key == "choose") {
        text(entry, "study.choose", study_.choose);
      } else if (entry.key == "spread") {
        text(entry, "study.spread", study_.spread);
      } else if (entry.key == "note") {
        text(entry, "study.note", study_.note);
      } else if (entry.key == "columns") {
        columns(section, entry);
      } else if (entry.key == "paper") {
        paper(section, entry);
      } else {
        add(entry.place, "study." + entry.key, "unknown key", suggestion(entry.key, kKeys));
      }
    }
  }

  void matrix(const Section& section, std::vector<Axis>& axes) {
    if (!wanted(section, section.node, section.node.IsMap(), "matrix", "keys with lists")) return;
    for (const YamlEntry& entry : entries_of(section.file, section.node, problems_)) {
      const std::string name = "matrix." + entry.key;
      if (entry.key == "run" || entry.key == "runs") {
        add(entry.place, name, "a study names its runs itself", "");
      } else if (!is_assignable(entry.key)) {
        add(entry.place, name, "unknown key", suggestion(entry.key, assignable_keys()));
      } else if (!entry.value.IsSequence() || entry.value.size() == 0) {
        const std::string got = entry.value.IsSequence() ? "an empty list" : describe(entry.value);
        add(entry.place, name, "got " + got + ", wanted a list of values",
            entry.value.IsScalar() ? "[" + entry.value.Scalar() + "]" : "");
      } else {
        axes.push_back(list_axis(section, entry));
      }
    }
  }

  void variants(const Section& section, std::vector<Axis>& axes) {
    const bool list = section.node.IsSequence() && section.node.size() > 0;
    if (!wanted(section, section.node, list, "variants", "a list of named sets of keys")) return;
    Axis axis{.key = "variant", .place = place_of(section.file, section.node), .values = {}};
    for (const YAML::Node& node : section.node) {
      if (!wanted(section, node, node.IsMap(), "variants", "`name:` and keys")) continue;
      AxisValue variant;
      std::vector<YamlEntry> keys;
      for (const YamlEntry& entry : entries_of(section.file, node, problems_)) {
        if (entry.key == "name") {
          text(entry, "variants.name", variant.label);
        } else {
          keys.push_back(entry);
        }
      }
      if (variant.label.empty()) {
        add(place_of(section.file, node), "variants", "a variant without a name", "");
        continue;
      }
      variant.assignments = assignments_of(section.file, keys, problems_);
      axis.values.push_back(std::move(variant));
    }
    if (!axis.values.empty()) axes.push_back(std::move(axis));
  }

 private:
  StudySettings& study_;
  Problems& problems_;

  void add(std::string place, std::string key, std::string message, std::string hint) {
    problems_.add({.place = std::move(place),
                   .key = std::move(key),
                   .message = std::move(message),
                   .hint = std::move(hint)});
  }

  bool wanted(const Section& section, const YAML::Node& node, bool good, const std::string& key,
              const std::string& what) {
    if (good) return true;
    add(place_of(section.file, node), key, "got " + describe(node) + ", wanted " + what, "");
    return false;
  }

  void text(const YamlEntry& entry, const std::string& key, std::string& result) {
    if (entry.value.IsScalar() && !entry.value.Scalar().empty()) {
      result = entry.value.Scalar();
    } else {
      add(entry.place, key, "got " + describe(entry.value) + ", wanted a word", "");
    }
  }

  void columns(const Section& section, const YamlEntry& entry) {
    if (!wanted(section, entry.value, entry.value.IsSequence(), "study.columns",
                "a list of metrics")) {
      return;
    }
    study_.columns.clear();
    for (const YAML::Node& node : entry.value) {
      if (wanted(section, node, node.IsScalar(), "study.columns", "the name of a metric")) {
        study_.columns.push_back(node.Scalar());
      }
    }
  }

  void paper(const Section& section, const YamlEntry& entry) {
    if (!wanted(section, entry.value, entry.value.IsSequence(), "study.paper",
                "a list of {row, metric, value, source}")) {
      return;
    }
    for (const YAML::Node& node : entry.value) {
      if (!wanted(section, node, node.IsMap(), "study.paper", "{row, metric, value, source}")) {
        continue;
      }
      study_.paper.push_back(paper_value(section, node));
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
      } else if (field.key == "value") {
        text(field, "study.paper.value", value);
      } else if (field.key == "source") {
        text(field, "study.paper.source", result.source);
      } else if (field.key == "model") {
        text(field, "study.paper.model", result.model);
      } else {
        add(field.place, "study.paper." + field.key, "unknown key", suggestion(field.key, kKeys));
      }
    }
    const std::string place = place_of(section.file, node);
    if (result.row.empty() || result.metric.empty()) {
      add(place, "study.paper", "a value without row or metric", "");
    }
    try {
      result.value = parse_number(value, {});
    } catch (const InvalidValue& invalid) {
      add(place, "study.paper.value", "got \"" + value + "\", wanted " + invalid.what(), "");
    }
    return result;
  }

  Axis list_axis(const Section& section, const YamlEntry& entry) {
    Axis axis{.key = axis_key(entry.key), .place = entry.place, .values = {}};
    for (const YAML::Node& node : entry.value) {
      const std::string name = "matrix." + entry.key;
      if (!wanted(section, node, node.IsScalar(), name, "a single value")) continue;
      axis.values.push_back({.label = node.Scalar(),
                             .assignments = {{.key = entry.key,
                                              .text = node.Scalar(),
                                              .place = place_of(section.file, node),
                                              .folder = section.file.parent_path()}}});
    }
    return axis;
  }
};

std::string folder_name(const std::string& path) {
  const std::filesystem::path folder = (std::filesystem::path(path) / "").lexically_normal();
  return folder.parent_path().filename().string();
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t comma; (comma = text.find(',', start)) != std::string::npos; start = comma + 1) {
    parts.push_back(text.substr(start, comma - start));
  }
  parts.push_back(text.substr(start));
  return parts;
}

// Flags with several values, or of an axis, become axes; the others are set in all runs.
std::vector<Assignment> apply_flags(const std::vector<Override>& overrides,
                                    std::vector<Axis>& axes) {
  std::vector<Assignment> common;
  for (const Assignment& flag : to_assignments(overrides)) {
    const std::vector<std::string> values = split_at_commas(flag.text);
    const auto known = std::find_if(
        axes.begin(), axes.end(), [&](const Axis& axis) { return axis.key == axis_key(flag.key); });
    if (values.size() == 1 && known == axes.end()) {
      common.push_back(flag);
      continue;
    }
    Axis axis{.key = axis_key(flag.key), .place = flag.place, .values = {}};
    for (const std::string& value : values) {
      Assignment one = flag;
      one.text = value;
      axis.values.push_back({.label = value, .assignments = {std::move(one)}});
    }
    if (known == axes.end()) {
      axes.push_back(std::move(axis));
    } else {
      *known = std::move(axis);
    }
  }
  return common;
}

// Folders are known by their own names where those differ: runs/a and runs/b are a and b.
void shorten_paths(std::vector<Axis>& axes) {
  for (Axis& axis : axes) {
    const Key* const key = find_key(axis.key);
    if (key == nullptr || key->type != KeyType::path) continue;
    std::set<std::string> names;
    for (const AxisValue& value : axis.values) names.insert(folder_name(value.label));
    if (names.size() < axis.values.size() || names.contains("")) continue;
    for (AxisValue& value : axis.values) value.label = folder_name(value.label);
  }
}

// An axis that study.choose or study.spread names must be there.
void require_axis(const std::string& key, const std::string& value, const std::vector<Axis>& axes,
                  const std::string& file, Problems& problems) {
  const bool there = value.empty() || std::any_of(axes.begin(), axes.end(), [&](const Axis& axis) {
                       return axis.key == value;
                     });
  if (there) return;
  problems.add({.place = file,
                .key = key,
                .message = "\"" + value + "\" is not varied in this study",
                .hint = "a key of the matrix, or --" + value + " A,B"});
}

// The values that stand twice in an axis: two runs of one name.
void refuse_repeats(const std::vector<Axis>& axes, Problems& problems) {
  for (const Axis& axis : axes) {
    std::set<std::string> seen;
    for (const AxisValue& value : axis.values) {
      if (seen.insert(name_part(axis, value.label)).second) continue;
      problems.add({.place = axis.place,
                    .key = axis.key,
                    .message = "\"" + value.label + "\" is there twice",
                    .hint = ""});
    }
  }
}

StudyRun make_run(const std::vector<Axis>& axes, std::size_t index,
                  const std::vector<Assignment>& base, const SourceKeys& source_keys,
                  Problems& problems) {
  StudyRun run;
  std::vector<const AxisValue*> chosen(axes.size());
  for (std::size_t place = axes.size(); place-- > 0;) {
    const std::size_t count = axes[place].values.size();
    chosen[place] = &axes[place].values[index % count];
    index /= count;
  }
  std::vector<Assignment> assignments = base;
  for (std::size_t place = 0; place < axes.size(); ++place) {
    run.values.push_back(chosen[place]->label);
    run.name += (place ? "-" : "") + name_part(axes[place], chosen[place]->label);
    assignments.insert(assignments.end(), chosen[place]->assignments.begin(),
                       chosen[place]->assignments.end());
  }
  if (run.name.empty()) run.name = "run";
  add_source_keys(assignments, source_keys);
  Problems own;  // a combination is checked even when another one has shown a problem
  run.settings = resolve(assignments, own, run.refusals);
  problems.add_all(own);
  return run;
}

// Combinations that contradict themselves are rows that say so, unless nothing can be run anyway.
void report_refusals(const std::vector<StudyRun>& runs, Problems& problems) {
  const bool any_good = std::any_of(runs.begin(), runs.end(),
                                    [](const StudyRun& run) { return run.refusals.empty(); });
  if (any_good && problems.empty()) return;
  for (const StudyRun& run : runs) problems.add_all(run.refusals);
}

}  // namespace

bool is_study(const std::filesystem::path& file) {
  Problems ignored;
  return !read_yaml_file(file, ignored).sections.empty();
}

StudySettings load_study(const std::filesystem::path& file,
                         const std::vector<Override>& overrides, const SourceKeys& source_keys) {
  Problems problems;
  StudySettings study;
  study.name = file.stem().string();
  YamlFile yaml = read_yaml_file(file, problems);
  std::vector<Axis> axes;
  SectionReader reader(study, problems);
  const auto section = [&](const char* name) -> const Section* {
    const auto found = yaml.sections.find(name);
    return found == yaml.sections.end() ? nullptr : &found->second;
  };
  if (const Section* found = section("study")) reader.study(*found);
  if (const Section* found = section("matrix")) reader.matrix(*found, axes);
  if (const Section* found = section("variants")) reader.variants(*found, axes);
  if (const Section* found = section("evaluate")) {
    study.evaluations = read_study_evaluations(*found, problems);
  }

  std::vector<Override> settings_flags;
  for (const Override& flag : overrides) {
    if (flag.key == "run") {
      study.name = flag.text;  // `--run NAME` names the study, whose runs have names of their own
    } else {
      settings_flags.push_back(flag);
    }
  }
  for (Assignment& flag : apply_flags(settings_flags, axes)) {
    yaml.assignments.push_back(std::move(flag));
  }
  shorten_paths(axes);
  refuse_repeats(axes, problems);
  require_axis("study.choose", study.choose, axes, file.string(), problems);
  require_axis("study.spread", study.spread, axes, file.string(), problems);
  std::size_t count = 1;
  for (const Axis& axis : axes) count = std::min(count * axis.values.size(), kMostRuns + 1);
  if (count > kMostRuns) {
    problems.add({.place = file.string(),
                  .key = "matrix",
                  .message = fmt::format("more than {} combinations", kMostRuns),
                  .hint = ""});
  }
  if (count <= kMostRuns) {
    for (std::size_t index = 0; index < count; ++index) {
      study.runs.push_back(make_run(axes, index, yaml.assignments, source_keys, problems));
    }
  }
  report_refusals(study.runs, problems);
  problems.throw_if_any();
  study.folder = study.runs.front().settings.runs / study.name;
  for (StudyRun& run : study.runs) {
    run.settings.run = run.name;
    run.settings.runs /= study.trainings.empty() ? study.name : study.trainings;
  }
  for (const Axis& axis : axes) {
    study.axes.push_back({.key = axis.key, .values = {}});
    for (const AxisValue& value : axis.values) study.axes.back().values.push_back(value.label);
  }
  return study;
}

}  // namespace roformer
