#include "experiments/declaration/study_tuning.h"

#include "config/suggest.h"

namespace roformer {
namespace {

class TuningReader {
 public:
  TuningReader(const YamlFile::Section& section, Problems& problems)
      : section_(section), problems_(problems) {}

  TuningSection read() {
    TuningSection result{.where = location_of(section_.file, section_.node)};
    if (!section_.node.IsMap()) {
      problems_.add(result.where, "tune",
                    "got " + describe(section_.node) + ", wanted `values:` and `with:`");
      return result;
    }
    for (const YamlEntry& entry : entries_of(section_.file, section_.node, problems_)) {
      if (entry.key == "values") {
        read_matrix({.file = section_.file, .node = entry.value}, "tune.values", result.values,
                    problems_);
      } else if (entry.key == "with") {
        with(entry, result.with);
      } else if (entry.key == "per") {
        per(entry, result.per);
      } else if (entry.key == "metric") {
        if (is_word(entry, "the name of a figure")) {
          result.metric = {
              .key = "tune.metric", .name = entry.value.Scalar(), .where = entry.where};
        }
      } else if (entry.key == "record") {
        if (is_word(entry, "a file")) record(entry, result.record);
      } else {
        problems_.add(entry.where, "tune." + entry.key, "unknown key",
                      suggestion(entry.key, {"values", "with", "per", "metric", "record"}));
      }
    }
    if (result.values.empty() && problems_.empty()) {
      problems_.add(result.where, "tune.values", "not given",
                    "{training.learning_rate: [5e-4, 1e-3]}");
    }
    return result;
  }

 private:
  const YamlFile::Section& section_;
  Problems& problems_;

  bool is_word(const YamlEntry& entry, const char* wanted) {
    if (entry.value.IsScalar() && !entry.value.Scalar().empty()) return true;
    const std::string got = entry.value.IsScalar() ? "nothing" : describe(entry.value);
    problems_.add(entry.where, "tune." + entry.key, "got " + got + ", wanted " + wanted, "");
    return false;
  }

  void record(const YamlEntry& entry, std::filesystem::path& result) {
    result = (section_.file.parent_path() / entry.value.Scalar()).lexically_normal();
    std::error_code error;
    if (std::filesystem::is_regular_file(result, error)) return;
    problems_.add(entry.where, "tune.record", result.string() + " is not there",
                  "leave it out, and the trials are made here");
  }

  void with(const YamlEntry& entry, std::vector<Assignment>& result) {
    if (!entry.value.IsMap()) {
      problems_.add(entry.where, "tune.with",
                    "got " + describe(entry.value) + ", wanted keys with values");
      return;
    }
    result =
        assignments_of(section_.file, entries_of(section_.file, entry.value, problems_), problems_);
  }

  void per(const YamlEntry& entry, std::vector<std::string>& result) {
    if (!entry.value.IsSequence()) {
      problems_.add(entry.where, "tune.per",
                    "got " + describe(entry.value) + ", wanted a list of axes");
      return;
    }
    for (const YAML::Node& node : entry.value) {
      if (node.IsScalar()) {
        result.push_back(axis_key(node.Scalar()));
      } else {
        problems_.add(entry.where, "tune.per",
                      "got " + describe(node) + ", wanted the key of an axis");
      }
    }
  }
};

}  // namespace

TuningSection read_tuning(const YamlFile::Section& section, Problems& problems) {
  return TuningReader(section, problems).read();
}

}  // namespace roformer
