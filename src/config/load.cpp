#include "config/load.h"

#include "config/yaml_file.h"

namespace roformer {

Settings load_settings(const std::filesystem::path& file, const std::vector<Override>& overrides) {
  Problems problems;
  YamlFile yaml = read_yaml_file(file, problems);
  if (!yaml.sections.empty()) {
    const auto& [name, section] = *yaml.sections.begin();
    problems.add({.place = section.file.string() + ":" + std::to_string(section.line),
                  .key = name,
                  .message = "this file describes a study, not a single run",
                  .hint = "roformer study " + file.string()});
  }
  for (Assignment& flag : to_assignments(overrides)) yaml.assignments.push_back(std::move(flag));
  Settings settings = resolve(yaml.assignments, problems, problems);
  problems.throw_if_any();
  if (settings.run.empty()) settings.run = file.stem().string();
  return settings;
}

Settings default_settings(const std::vector<Override>& overrides) {
  Problems problems;
  const Settings settings = resolve(to_assignments(overrides), problems, problems);
  problems.throw_if_any();
  return settings;
}

}  // namespace roformer
