#include "config/load.h"

#include <algorithm>
#include <utility>

#include "config/yaml_file.h"

namespace roformer {

void add_source_keys(std::vector<Assignment>& assignments, const SourceKeys& source_keys) {
  const auto from =
      std::find_if(assignments.rbegin(), assignments.rend(),
                   [](const Assignment& assignment) { return assignment.key == "model.from"; });
  if (!source_keys || from == assignments.rend() || from->text.empty()) return;
  std::vector<Assignment> all;
  for (Override& key : source_keys((from->folder / from->text).lexically_normal())) {
    all.push_back({.key = std::move(key.key),
                   .text = std::move(key.text),
                   .place = from->place + " (model.from " + from->text + ")"});
  }
  all.insert(all.end(), assignments.begin(), assignments.end());
  assignments = std::move(all);
}

Settings load_settings(const std::filesystem::path& file, const std::vector<Override>& overrides,
                       const SourceKeys& source_keys) {
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
  add_source_keys(yaml.assignments, source_keys);
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
