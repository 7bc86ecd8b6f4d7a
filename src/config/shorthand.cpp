#include "config/shorthand.h"

#include <algorithm>
#include <utility>

#include "config/schemes/definition.h"
#include "config/value.h"

namespace roformer {
namespace {

constexpr std::string_view kSection = "position.";

const SchemeDefinition* scheme_of_section(const std::string& section) {
  if (!section.starts_with(kSection)) return nullptr;
  const SchemeDefinition* const scheme =
      find_scheme_definition(std::string_view(section).substr(kSection.size()));
  return scheme && scheme->shorthand ? scheme : nullptr;
}

}  // namespace

std::vector<std::string> shorthand_keys() {
  std::vector<std::string> keys;
  for (const SchemeDefinition& scheme : scheme_definitions()) {
    if (scheme.shorthand) keys.push_back(std::string(kSection) + std::string(scheme.facts.name));
  }
  return keys;
}

bool is_shorthand(const std::string& key) {
  return scheme_of_section(key) != nullptr;
}

bool is_shorthand_map_key(const std::string& section, const std::string& key) {
  const SchemeDefinition* const scheme = scheme_of_section(section);
  return scheme && scheme->shorthand_key && scheme->shorthand_key(key);
}

std::vector<Assignment> expand_shorthands(const std::vector<Assignment>& assignments,
                                          Problems& problems) {
  const bool chosen =
      std::any_of(assignments.begin(), assignments.end(), [](const Assignment& assignment) {
        return assignment.key == "position" || assignment.key == "position.scheme";
      });
  std::vector<Assignment> result;
  for (const Assignment& assignment : assignments) {
    const SchemeDefinition* const scheme = scheme_of_section(assignment.key);
    if (scheme == nullptr) {
      result.push_back(assignment);
      continue;
    }
    const auto add = [&](const std::string& key, std::string text) {
      Assignment one = assignment;
      one.key = key;
      one.text = std::move(text);
      result.push_back(std::move(one));
    };
    try {
      for (SchemeOption& option : scheme->shorthand(assignment.text, assignment.folder)) {
        add(assignment.key + "." + option.option, std::move(option.text));
      }
      if (!chosen) add("position.scheme", std::string(scheme->facts.name));
    } catch (const InvalidValue& invalid) {
      const std::string got = assignment.text.empty() ? "nothing" : '"' + assignment.text + '"';
      problems.add(assignment.where, assignment.key, "got " + got + ", wanted " + invalid.what(),
                   invalid.hint);
    }
  }
  return result;
}

}  // namespace roformer
