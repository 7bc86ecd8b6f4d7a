// The sections of a study's file that are no axes.
//
//   study:
//     name: positions
//     metric: test_loss
//     reference: rope
//     primary: {rows: [alibi, t5], metrics: [test_loss, test_loss_at_length_1024]}  # PrimaryTests
//
//   evaluate:          # every trained model, at several lengths and with other options
//     lengths: [128, 256, 512]
//     split: test      # lengths of the test set, which no training reads: figures test_loss and
//                      # test_loss_at_length_N; default: validation
//     variants:
//       - {name: window, attention.window: 128}
//       - {name: linear, scheme: rope, position.rope.scaling: linear,
//          stretch: position.rope.factor}
//   evaluate: {split: test, examples: 20}  # or, of translators: the set is decoded and scored
//
//   tune:              # values that are tried for each row beforehand, in separate trainings with
//                      # another seed, so that no row's recipe is chosen by the table's figures
//     values: {training.learning_rate: [5e-4, 1e-3, 2e-3]}
//     with: {seed: 1001, training.steps: 200}
//     per: [position]  # axes; default: all but the seed
//     metric: validation_loss           # default: the study's
//     record: leaderboard/encoder.json  # a record of this protocol, whose trials are taken
//     start: [1e-3, 2e-3]  # of one key's ascending values: these are tried first, and the next
//     ones
//                          # while the best of a row is at the edge of what was tried for it
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/problems.h"
#include "config/yaml_file.h"
#include "experiments/declaration/study_axis.h"
#include "experiments/declaration/study_settings.h"

namespace roformer {

// A metric that a section names, to be looked for once the runs are known.
struct NamedMetric {
  std::string key;   // "study.columns"
  std::string name;  // "masked_accuracy"
  SourceLocation where;
};

// Returns the metrics that it names.
std::vector<NamedMetric> read_study_section(const YamlFile::Section& section, StudySettings& study,
                                            Problems& problems);

StudyEvaluations read_study_evaluations(const YamlFile::Section& section, Problems& problems);

// The section as the file has it. StudySettings::tuning is built from it.
struct TuningSection {
  SourceLocation where;
  std::vector<MatrixAxis> values;
  std::vector<Assignment> with;
  std::vector<std::string> per;  // empty: all axes but the seed
  NamedMetric metric;            // of an empty name: the study's
  std::filesystem::path record;  // empty: none
  std::vector<std::string> start;
};
TuningSection read_tuning(const YamlFile::Section& section, Problems& problems);

}  // namespace roformer
