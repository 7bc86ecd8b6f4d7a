#include "experiments/declaration/study_sections.h"

#include <algorithm>
#include <utility>

#include "base/shipped.h"
#include "config/position_facts.h"
#include "config/suggest.h"
#include "config/yaml_fields.h"

namespace roformer {
namespace {

constexpr double kMostTokens = 1 << 20;  // tokens

// A text that is not empty. The value stays unchanged if the field is missing.
void take_word(const YamlFields& fields, const std::string& name, std::string& value) {
  fields.take(name, value);
  if (fields.has(name) && value.empty()) fields.refuse(name, "a word");
}

StudyReferenceLine read_reference_line(const YamlFields& fields) {
  return {.label = fields.text("label", ""), .value = fields.number("value")};
}

void read_reference_lines(const YamlFields& fields, std::vector<StudyReferenceLine>& lines) {
  for (const YamlNode& item : fields.items("reference_lines")) {
    if (item.value().IsScalar() && item.value().Scalar() == kUnigramLine) {
      lines.push_back({.label = kUnigramLine});
    } else {
      fields.in(item, "reference_lines",
                [&](const YamlFields& line) { lines.push_back(read_reference_line(line)); });
    }
  }
}

PaperValue read_paper_value(const YamlFields& fields) {
  return {.row = fields.text("row"),
          .metric = fields.text("metric"),
          .value = fields.number("value"),
          .source = fields.text("source", ""),
          .model = fields.text("model", "")};
}

// A key of a variant, or the key that it stretches.
void check_variant_key(const YamlFields& fields, const std::string& name, const std::string& key) {
  if (!is_assignable(key)) {
    fields.report(fields.node(name), key, "unknown key", suggestion(key, assignable_keys()));
  } else if (key != "position" && !key.starts_with("position.") && !key.starts_with("attention.")) {
    fields.report(fields.node(name), key,
                  "belongs to the training and cannot be changed for a trained model",
                  "position.* and attention.* can");
  }
}

StudyVariant read_variant(const YamlFields& fields) {
  StudyVariant variant{.name = fields.text("name", ""),
                       .scheme = fields.text("scheme", ""),
                       .stretch = fields.text("stretch", "")};
  if (fields.has("scheme") && find_position_facts(variant.scheme) == nullptr) {
    fields.complain("scheme", "no scheme is called " + variant.scheme,
                    suggestion(variant.scheme, position_names()));
  }
  if (fields.has("stretch")) check_variant_key(fields, "stretch", variant.stretch);
  for (const std::string& key : fields.names()) {
    if (key == "name" || key == "scheme" || key == "stretch") continue;
    variant.overrides.push_back({.key = key, .text = fields.text(key)});
    check_variant_key(fields, key, key);
  }
  return variant;
}

void read_variants(const YamlFields& fields, std::vector<StudyVariant>& variants) {
  fields.each("variants", [&](const YamlFields& item) {
    StudyVariant variant = read_variant(item);
    const bool twice =
        std::ranges::find(variants, variant.name, &StudyVariant::name) != variants.end();
    if (variant.name.empty() || twice) {
      item.complain("",
                    twice ? "\"" + variant.name + "\" is there twice" : "a variant without a name");
    } else {
      variants.push_back(std::move(variant));
    }
  });
}

}  // namespace

std::vector<NamedMetric> read_study_section(const YamlFile::Section& section, StudySettings& study,
                                            Problems& problems) {
  std::vector<NamedMetric> metrics;
  YamlFields::read_map(
      section.file, section.node, "study", problems, [&](const YamlFields& fields) {
        for (const auto& [key, value] : {std::pair("name", &study.name),
                                         {"metric", &study.metric},
                                         {"trainings", &study.trainings},
                                         {"choose", &study.choose},
                                         {"spread", &study.spread},
                                         {"reference", &study.reference},
                                         {"note", &study.note}}) {
          take_word(fields, key, *value);
        }
        if (fields.has("metric")) {
          metrics.push_back({"study.metric", study.metric, fields.where("metric")});
        }
        fields.take("version", study.version, between(1, 1e6));
        for (const YamlNode& column : fields.items("columns")) {
          if (!column.value().IsScalar()) {
            fields.refuse(column, "columns", "the name of a metric");
            continue;
          }
          study.columns.push_back(column.value().Scalar());
          metrics.push_back({"study.columns", study.columns.back(), fields.where(column)});
        }
        if (const YamlNode primary = fields.node("primary"); primary.is_there()) {
          fields.in(primary, "primary", [&](const YamlFields& tests) {
            study.primary.rows = tests.texts("rows");
            if (tests.has("metrics")) study.primary.metrics = tests.texts("metrics");
            for (const std::string& metric : study.primary.metrics) {
              metrics.push_back({"study.primary.metrics", metric, tests.where("metrics")});
            }
          });
          if (study.reference.empty()) {
            fields.complain("primary", "tests rows against study.reference, which is not given");
          }
        }
        read_reference_lines(fields, study.reference_lines);
        fields.each("paper", [&](const YamlFields& value) {
          study.paper.push_back(read_paper_value(value));
          metrics.push_back(
              {"study.paper.metric", study.paper.back().metric, value.where("metric")});
        });
      });
  return metrics;
}

StudyEvaluations read_study_evaluations(const YamlFile::Section& section, Problems& problems) {
  StudyEvaluations result;
  YamlFields::read_map(
      section.file, section.node, "evaluate", problems, [&](const YamlFields& fields) {
        if (fields.has("lengths")) {
          for (const std::int64_t length : fields.counts("lengths", between(2, kMostTokens))) {
            if (std::ranges::count(result.lengths, length) == 0) result.lengths.push_back(length);
          }
        }
        read_variants(fields, result.variants);
        take_word(fields, "split", result.split);
        if (fields.has("split") && result.split != "validation" && result.split != "test") {
          fields.refuse("split", "validation or test");
          result.split.clear();
        }
        fields.take("sentences", result.sentences, between(0, kMostTokens));
        fields.take("examples", result.examples, between(0, kMostTokens));
        const bool by_lengths = !result.lengths.empty();
        if (!by_lengths && !fields.has("lengths") && !fields.has("split")) {
          fields.complain("lengths", "not given", "lengths: [128, 256]");
        }
        // Evaluations at lengths have variants. Decoding without lengths has sentences.
        for (const char* const key : {"variants", "sentences", "examples"}) {
          const bool of_lengths = key == std::string("variants");
          if (!fields.has(key) || of_lengths == by_lengths) continue;
          fields.complain(key, by_lengths ? "is of translations, and lengths are of losses"
                                          : "is for losses at lengths, of which none are given");
        }
      });
  return result;
}

TuningSection read_tuning(const YamlFile::Section& section, Problems& problems) {
  TuningSection result{.where = location_of(section.file, section.node)};
  const auto read = [&](const YamlFields& fields) {
    if (const YamlNode values = fields.node("values"); values.is_there()) {
      read_matrix({.file = section.file, .node = values.value()}, "tune.values", result.values,
                  problems);
    } else {
      fields.complain("values", "not given", "{training.learning_rate: [5e-4, 1e-3]}");
    }
    if (const YamlNode with = fields.node("with"); with.is_map()) {
      result.with =
          assignments_of(section.file, entries_of(section.file, with.value(), problems), problems);
    } else if (with.is_there()) {
      fields.refuse("with", "keys with values");
    }
    if (fields.has("per")) {
      for (const std::string& key : fields.texts("per")) result.per.push_back(axis_key(key));
    }
    take_word(fields, "metric", result.metric.name);
    if (fields.has("metric")) {
      result.metric = {"tune.metric", result.metric.name, fields.where("metric")};
    }
    if (fields.has("start")) result.start = fields.texts("start");
    std::string record;
    take_word(fields, "record", record);
    std::error_code error;
    if (record.empty()) return;
    result.record = located(fields.file("record"));
    if (!std::filesystem::is_regular_file(result.record, error)) {
      fields.complain("record", result.record.string() + " is not there",
                      "leave it out, and the trials are made here");
    }
  };
  YamlFields::read_map(section.file, section.node, "tune", problems, read);
  return result;
}

}  // namespace roformer
