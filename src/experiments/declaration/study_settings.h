// A study: one configuration, and a matrix of keys whose values are tried in every combination.
//
//     extends: quickstart.yaml
//     study: {name: positions, metric: validation_loss, columns: [parameters, tokens_per_second]}
//     matrix:
//       position: [rope, sinusoidal]
//       seed: [1, 2]
//
// A value may set further keys, `probe.kind: [copy, {addition: {training.steps: 8000}}]`.
// `variants:` is one more axis whose values are named sets of keys:
//
//     variants:
//       - {name: plain}
//       - {name: stretched, position.rope.scaling: yarn, position.rope.factor: 4}
//
// Before the study runs, `tune:` chooses values of keys for each row; `evaluate:` evaluates the
// trained models (study_sections.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/load.h"
#include "config/problems.h"
#include "config/settings.h"

namespace roformer {

// A reference value of a paper, shown beside ours in the study's table.
struct PaperValue {
  std::string row;     // value of the axis that names the row, e.g. "rope"
  std::string metric;  // e.g. "validation_loss"
  double value = 0;
  std::string source;  // e.g. "RoFormer, table 2"
  std::string model;   // the owner of the value if a table has several: a row of study.spread
};

struct StudyVariant {
  std::string name;
  std::string scheme;               // only models trained with this one; empty: all
  std::vector<Override> overrides;  // keys of position.* and attention.*
  std::string stretch;              // a key that gets length over training length, at least 1
};

struct StudyEvaluations {
  std::vector<std::int64_t> lengths;  // empty: nothing is evaluated at other lengths
  std::vector<StudyVariant> variants;
  // "validation" or "test". With lengths, the set that is read (empty: validation); without
  // lengths, the set that is decoded (empty: none).
  std::string split;
  std::int64_t sentences = 0;  // the first ones of the set; 0: all
  std::int64_t examples = 20;  // shown side by side

  bool decodes() const { return lengths.empty() && !split.empty(); }
  bool of_test() const { return !lengths.empty() && split == "test"; }
};

// A line in the charts of the study's metric: a value from the study's file, or the loss of word
// frequencies ("unigram"), computed from the data of the runs.
struct StudyReferenceLine {
  std::string label;
  std::optional<double> value;  // none: of the data
};

inline constexpr const char* kUnigramLine = "unigram";

// One key and the values that it takes; "variant" for the axis of `variants:`.
struct StudyAxis {
  std::string key;
  std::vector<std::string> values;
};

// The axis of a row's runs. It never tells rows apart.
inline constexpr const char* kSeedAxis = "seed";

struct StudyRun {
  std::string name;                 // "rope-seed1", the folder of the run
  std::vector<std::string> values;  // one of each axis, in the axes' order
  Settings settings;                // run and runs are set: runs/STUDY/RUN
  // The settings with each combination of tune.values. Their order is that of the runs of
  // StudyTuning::study that agree with this run in tune.per. Empty without tuning. `settings` are
  // the first ones until a choice is made.
  std::vector<Settings> candidates;
  std::vector<std::string> chosen;  // a value of each tuned key, once the choice is made
  // False for a run of a protocol (version > 0) that is not requested now. It is shown if finished.
  bool asked = true;
  std::string notice;  // other changes that flags made, for people; or empty
  Problems refusals;   // why this combination contradicts itself; mostly empty
};

struct StudySettings;

// The contents of `tune:`.
struct StudyTuning {
  std::vector<std::string> keys;  // whose values are chosen
  std::vector<std::string> per;   // axes: runs that agree in these share the choice
  std::string with;               // other differences between its runs and the table's, for people
  std::filesystem::path record;   // of the same protocol, whose trials are taken; empty: none
  // The values that are tried first, a part of those of the one key. Further ones are tried while
  // the best is at the edge of what was tried. Empty: all are tried.
  std::vector<std::string> start;
  // The trainings of the tuning, in runs/STUDY/tuning. The study's axes are `per`, then `keys`. Its
  // metric decides the choice.
  std::shared_ptr<const StudySettings> study;
};

// The tests that were declared before the runs were made: each row against the reference, by each
// metric. Holm's correction is for all of them together. What is not in here is exploratory.
struct PrimaryTests {
  std::vector<std::string> rows;     // values of the axis that has the reference; empty: none
  std::vector<std::string> metrics;  // empty: the study's metric
};

struct StudySettings {
  std::string name;  // default: the file's stem
  std::filesystem::path file;
  std::string text;  // of the file, for the report
  std::string metric = "validation_loss";
  std::vector<std::string> columns;  // metrics to show after it; empty: those that fit the task
  std::vector<PaperValue> paper;
  // An axis of which every row shows only the value with the best mean of the metric over the
  // seeds, as for learning rates chosen on a validation set. Empty: none.
  std::string choose;
  // An axis whose values become the columns of a separate table, with `paper` as further rows.
  std::string spread;
  std::string note;  // below the tables
  // The version of a protocol, which keeps results of different days and machines. It is raised
  // whenever data, batches or recipe change, so that only equal versions are compared. Flags then
  // say which runs are made now and add values to the axes; finished work of the other runs stays
  // in the tables. 0: no protocol.
  std::int64_t version = 0;
  // The row with which the others are compared, named before the results are known. A value of one
  // axis ("rope") compares every row with the row that differs only in that axis. The title of a
  // row names one row. Empty: the best row is the reference, and the p-values are corrected for all
  // pairs.
  std::string reference;
  PrimaryTests primary;
  std::vector<StudyReferenceLine> reference_lines;
  // Another study whose trainings this one uses. Missing trainings are made there. Empty: the study
  // makes its trainings itself.
  std::string trainings;
  StudyEvaluations evaluations;  // of what was trained
  std::optional<StudyTuning> tuning;
  std::filesystem::path folder;  // runs/STUDY, for reports and evaluations
  std::vector<StudyAxis> axes;
  std::vector<StudyRun> runs;  // every combination, the last axis running fastest
};

// True if the file, or a file that it extends, has a matrix, variants or a study section. Throws
// Error (usage) for a file that cannot be read.
bool is_study(const std::filesystem::path& file);

// Loads a study. An override with several values (`--position rope,sinusoidal`), or of a key of the
// matrix, replaces that axis or adds one. In a protocol it requests values of the axis and adds
// them to it. Any other override is set in all runs. Throws Error (usage) with all problems at
// once, as load_settings does; a metric that no run will have (study_metrics.h) is a problem. A
// combination that contradicts itself becomes a run with refusals, and is a problem only if no
// combination is valid. `source_keys` is called once for each path.
StudySettings load_study(const std::filesystem::path& file,
                         const std::vector<Override>& overrides = {},
                         const SourceKeys& source_keys = {});

}  // namespace roformer
