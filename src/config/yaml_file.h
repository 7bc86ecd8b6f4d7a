// A configuration file as a list of assignments: YAML read with line numbers, duplicate keys found,
// `extends` followed.
#pragma once

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/yaml_fields.h"

namespace roformer {

struct YamlFile {
  std::vector<Assignment> assignments;  // of the files that it extends first
  // The sections of a study (`study`, `matrix`, `variants`, `evaluate`, `tune`), with the file that
  // they stand in. A file's own section replaces that of the file it extends.
  struct Section {
    std::filesystem::path file;
    int line = 0;
    YAML::Node node;
  };
  std::map<std::string, Section> sections;
};

// A file that cannot be read or is not YAML at all throws Error (usage); everything else that is
// wrong with it is added to `problems`.
YamlFile read_yaml_file(const std::filesystem::path& path, Problems& problems);

// Nested sections (`training: {steps: 5}`) and dotted keys (`training.steps: 5`) as assignments.
std::vector<Assignment> assignments_of(const std::filesystem::path& file,
                                       const std::vector<YamlEntry>& entries, Problems& problems);

}  // namespace roformer
