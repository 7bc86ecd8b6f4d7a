#include "experiments/declaration/study_evaluations.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/position_facts.h"
#include "config/suggest.h"
#include "config/value.h"

namespace roformer {
namespace {

constexpr double kLongest = 1 << 20;  // tokens

class EvaluationReader {
 public:
  EvaluationReader(const YamlFile::Section& section, Problems& problems)
      : section_(section), problems_(problems) {}

  StudyEvaluations read() {
    StudyEvaluations result;
    if (!section_.node.IsMap()) {
      problems_.add(location_of(section_.file, section_.node), "evaluate",
                    "wanted `lengths:` and `variants:`, or `split:`");
      return result;
    }
    const std::vector<YamlEntry> entries = entries_of(section_.file, section_.node, problems_);
    for (const YamlEntry& entry : entries) {
      if (entry.key == "lengths") {
        lengths(entry, result.lengths);
      } else if (entry.key == "variants") {
        variants(entry, result.variants);
      } else if (entry.key == "split") {
        split(entry, result.split);
      } else if (entry.key == "sentences") {
        count(entry, result.sentences);
      } else if (entry.key == "examples") {
        count(entry, result.examples);
      } else {
        problems_.add(
            entry.where, "evaluate." + entry.key, "unknown key",
            suggestion(entry.key, {"lengths", "variants", "split", "sentences", "examples"}));
      }
    }
    if (result.lengths.empty() && result.split.empty() && problems_.empty()) {
      problems_.add(location_of(section_.file, section_.node), "evaluate.lengths", "not given",
                    "lengths: [128, 256]");
    }
    for (const YamlEntry& entry : entries) refuse_idle(entry, !result.lengths.empty());
    return result;
  }

 private:
  const YamlFile::Section& section_;
  Problems& problems_;

  // Lengths have variants; what is decoded without them has sentences.
  void refuse_idle(const YamlEntry& entry, bool by_lengths) {
    const bool of_lengths = entry.key == "variants";
    const bool of_decoded = entry.key == "sentences" || entry.key == "examples";
    if (by_lengths ? !of_decoded : !of_lengths) return;
    problems_.add(entry.where, "evaluate." + entry.key,
                  by_lengths ? "is of translations, and lengths are of losses"
                             : "is for losses at lengths, of which none are given");
  }

  void split(const YamlEntry& entry, std::string& result) {
    const std::string text = entry.value.IsScalar() ? entry.value.Scalar() : "";
    if (text == "validation" || text == "test") {
      result = text;
    } else {
      problems_.add(entry.where, "evaluate.split", "got " + describe(entry.value),
                    "validation or test");
    }
  }

  void count(const YamlEntry& entry, std::int64_t& result) {
    try {
      result =
          parse_integer(entry.value.IsScalar() ? entry.value.Scalar() : "", between(0, kLongest));
    } catch (const InvalidValue& invalid) {
      problems_.add(entry.where, "evaluate." + entry.key,
                    "got " + describe(entry.value) + ", wanted " + invalid.what());
    }
  }

  void lengths(const YamlEntry& entry, std::vector<std::int64_t>& result) {
    if (!entry.value.IsSequence()) {
      problems_.add(entry.where, "evaluate.lengths",
                    "got " + describe(entry.value) + ", wanted a list of lengths");
      return;
    }
    for (const YAML::Node& node : entry.value) {
      try {
        const std::string text = node.IsScalar() ? node.Scalar() : "";
        const std::int64_t length = parse_integer(text, between(2, kLongest));
        if (std::find(result.begin(), result.end(), length) == result.end()) {
          result.push_back(length);
        }
      } catch (const InvalidValue& invalid) {
        problems_.add(location_of(section_.file, node), "evaluate.lengths",
                      "got " + describe(node) + ", wanted " + invalid.what());
      }
    }
  }

  void variants(const YamlEntry& entry, std::vector<StudyVariant>& result) {
    if (!entry.value.IsSequence()) {
      problems_.add(entry.where, "evaluate.variants",
                    "got " + describe(entry.value) + ", wanted a list of named sets of keys",
                    "variants: [{name: YaRN, position.scaling: yarn, position.factor: 4}]");
      return;
    }
    for (const YAML::Node& node : entry.value) {
      if (!node.IsMap()) {
        problems_.add(location_of(section_.file, node), "evaluate.variants",
                      "got " + describe(node) + ", wanted `name:` and keys",
                      "{name: YaRN, position.scaling: yarn, position.factor: 4}");
        continue;
      }
      StudyVariant variant = read_variant(node);
      const bool twice = std::any_of(result.begin(), result.end(), [&](const StudyVariant& other) {
        return other.name == variant.name;
      });
      if (variant.name.empty() || twice) {
        problems_.add(
            location_of(section_.file, node), "evaluate.variants",
            twice ? "\"" + variant.name + "\" is there twice" : "a variant without a name");
      } else {
        result.push_back(std::move(variant));
      }
    }
  }

  StudyVariant read_variant(const YAML::Node& node) {
    StudyVariant variant;
    for (const YamlEntry& field : entries_of(section_.file, node, problems_)) {
      const std::string key = "evaluate.variants." + field.key;
      if (!field.value.IsScalar()) {
        problems_.add(field.where, key, "got " + describe(field.value) + ", wanted a single value");
        continue;
      }
      const std::string text = field.value.Scalar();
      if (field.key == "name") {
        variant.name = text;
      } else if (field.key == "scheme") {
        variant.scheme = text;
        if (find_position_facts(text) == nullptr) {
          problems_.add(field.where, key, "no scheme is called " + text,
                        suggestion(text, position_names()));
        }
      } else if (field.key == "stretch") {
        variant.stretch = text;
        check_key(field.where, text);
      } else {
        variant.overrides.push_back({.key = field.key, .text = text});
        check_key(field.where, field.key);
      }
    }
    return variant;
  }

  void check_key(const SourceLocation& where, const std::string& key) {
    if (!is_assignable(key)) {
      problems_.add(where, key, "unknown key", suggestion(key, assignable_keys()));
    } else if (key != "position" && !key.starts_with("position.") &&
               !key.starts_with("attention.")) {
      problems_.add(where, key, "belongs to the training and cannot be changed for a trained model",
                    "position.* and attention.* can");
    }
  }
};

}  // namespace

StudyEvaluations read_study_evaluations(const YamlFile::Section& section, Problems& problems) {
  return EvaluationReader(section, problems).read();
}

}  // namespace roformer
