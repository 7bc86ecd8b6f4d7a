// The `tune:` section of a study: values of keys that are tried beforehand for each row, in
// trainings of their own with another seed (and, as a rule, a shorter budget), so that no row's
// recipe was chosen by the figures of the table.
//
//   tune:
//     values: {training.learning_rate: [5e-4, 1e-3, 2e-3]}
//     with: {seed: 1001, training.steps: 200}
//     per: [position]       # axes; default: all but the seed
//     metric: validation_loss  # default: the study's
//     record: leaderboard/encoder.json  # of this protocol: its trials are not made again
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "config/problems.h"
#include "config/yaml_file.h"
#include "experiments/declaration/study_axis.h"
#include "experiments/declaration/study_sections.h"

namespace roformer {

// As it stands in the file; StudySettings::tuning is what comes of it.
struct TuningSection {
  SourceLocation where;
  std::vector<MatrixAxis> values;
  std::vector<Assignment> with;
  std::vector<std::string> per;  // empty: all axes but the seed
  NamedMetric metric;            // of an empty name: the study's
  std::filesystem::path record;  // empty: none
};

TuningSection read_tuning(const YamlFile::Section& section, Problems& problems);

}  // namespace roformer
