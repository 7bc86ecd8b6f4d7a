// Reads a YAML configuration file into a list of assignments with line numbers. Finds repeated keys
// and follows `extends`.
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
  std::vector<Assignment> assignments;  // those of the extended files come first
  // The sections of a study (`study`, `matrix`, `variants`, `evaluate`, `tune`), each with the file
  // that contains it. A file's own section replaces the section of the file that it extends.
  struct Section {
    std::filesystem::path file;
    int line = 0;
    YAML::Node node;
  };
  std::map<std::string, Section> sections;
};

// Throws Error (usage) for a file that cannot be read or is no YAML. Adds every other problem to
// `problems`.
YamlFile read_yaml_file(const std::filesystem::path& path, Problems& problems);

// Nested sections (`training: {steps: 5}`) and dotted keys (`training.steps: 5`) as assignments.
std::vector<Assignment> assignments_of(const std::filesystem::path& file,
                                       const std::vector<YamlEntry>& entries, Problems& problems);

}  // namespace roformer
