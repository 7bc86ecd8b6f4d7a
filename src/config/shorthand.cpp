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

// `position.formula.bias` says what scheme is meant as `position.formula` does; other options are
// those of a scheme that something else may choose. Null for such, and for all other keys.
const SchemeDefinition* scheme_that_is_said(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos) return nullptr;
  const SchemeDefinition* const scheme = scheme_of_section(key.substr(0, dot));
  const bool said = scheme && scheme->says_itself && scheme->says_itself(key.substr(dot + 1));
  return said ? scheme : nullptr;
}

// A value that chooses its scheme beside another choice, of which one would be dropped. The layers
// of a composite scheme may have such a value.
void refuse_another(const SchemeDefinition& scheme, const Assignment& assignment,
                    const Assignment* chosen, Problems& problems) {
  if (chosen == nullptr || chosen->text == scheme.facts.name) return;
  const SchemeDefinition* const other = find_scheme_definition(chosen->text);
  if (other == nullptr || other->parts) return;
  problems.add(assignment.where, assignment.key,
               "chooses the scheme " + std::string(scheme.facts.name) + ", and " + chosen->where +
                   " says " + chosen->text,
               "one of them");
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
  const Assignment* chosen = nullptr;  // the last one that says which scheme
  for (const Assignment& assignment : assignments) {
    if (assignment.key == "position" || assignment.key == "position.scheme") chosen = &assignment;
  }
  const SchemeDefinition* implied = nullptr;
  SourceLocation implied_at;
  bool by_option = false;
  const auto imply = [&](const SchemeDefinition& scheme, const Assignment& assignment,
                         bool option) {
    // A composite one puts others together, whose own options stand beside it.
    if (chosen != nullptr || (implied != nullptr && implied->parts)) return;
    implied = &scheme;
    implied_at = assignment.where;
    by_option = option;
  };
  std::vector<Assignment> result;
  for (const Assignment& assignment : assignments) {
    const SchemeDefinition* const scheme = scheme_of_section(assignment.key);
    if (scheme == nullptr) {
      if (const SchemeDefinition* const own = scheme_that_is_said(assignment.key)) {
        imply(*own, assignment, true);
      }
      result.push_back(assignment);
      continue;
    }
    try {
      for (SchemeOption& option : scheme->shorthand(assignment.text, assignment.folder)) {
        Assignment one = assignment;
        one.key += "." + option.option;
        one.text = std::move(option.text);
        if (!option.where.empty()) one.where = std::move(option.where);
        result.push_back(std::move(one));
      }
      imply(*scheme, assignment, false);
      refuse_another(*scheme, assignment, chosen, problems);
    } catch (const InvalidValue& invalid) {
      const std::string got = assignment.text.empty() ? "nothing" : '"' + assignment.text + '"';
      problems.add(assignment.where, assignment.key, "got " + got + ", wanted " + invalid.what(),
                   invalid.hint);
    }
  }
  if (implied != nullptr) {
    result.push_back({.key = "position.scheme",
                      .text = std::string(implied->facts.name),
                      .where = implied_at,
                      .implied = by_option});
  }
  return result;
}

}  // namespace roformer
