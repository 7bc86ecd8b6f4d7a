// The sections of a YAML file that only a study has: `study:`, `matrix:` and `variants:`.
#pragma once

#include <string>
#include <vector>

#include "config/problems.h"
#include "config/yaml_file.h"
#include "experiments/declaration/study_axis.h"
#include "experiments/declaration/study_settings.h"

namespace roformer {

// What it calls the axis of a key: `position` for position.scheme.
std::string axis_key(const std::string& key);
// What a value of an axis is called: a formula of a file by its name there, behind the file's where
// a scheme has that name.
std::string value_label(const std::string& key, const std::string& text);

// A metric that the section names, to be looked for once the runs are known.
struct NamedMetric {
  std::string key;   // "study.columns"
  std::string name;  // "masked_accuracy"
  SourceLocation where;
};

// Returns the metrics that it names.
std::vector<NamedMetric> read_study_section(const YamlFile::Section& section, StudySettings& study,
                                            Problems& problems);
// `name`: what the file calls the section.
void read_matrix(const YamlFile::Section& section, const std::string& name,
                 std::vector<MatrixAxis>& axes, Problems& problems);
void read_variants(const YamlFile::Section& section, std::vector<MatrixAxis>& axes,
                   Problems& problems);

}  // namespace roformer
