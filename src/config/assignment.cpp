#include "config/assignment.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "config/check.h"
#include "config/data_settings.h"
#include "config/position_facts.h"
#include "config/schema.h"
#include "config/schemes/definition.h"
#include "config/suggest.h"
#include "config/value.h"

namespace roformer {
namespace {

constexpr std::string_view kPosition = "position.";

// Former names of keys that stored runs still use.
const std::map<std::string, std::string> kFormerNames{
    {"data.masking.whole_word", "data.masking.whole_words"}};

// Returns "buckets" for position.buckets, the short form of an option of the chosen scheme; "" for
// anything else.
std::string short_option(const std::string& key) {
  if (find_key(key) || is_shorthand(key) || !key.starts_with(kPosition)) return "";
  std::string option = key.substr(kPosition.size());
  return option.find('.') == std::string::npos ? option : "";
}

std::vector<std::string> options_of(const std::string& scheme) {
  std::vector<std::string> options;
  const std::string section = std::string(kPosition) + scheme + ".";
  for (const Key& key : schema()) {
    if (key.name.starts_with(section)) options.push_back(key.name.substr(section.size()));
  }
  return options;
}

std::vector<std::string> schemes_with(const std::string& option) {
  std::vector<std::string> schemes;
  for (const std::string& scheme : position_names()) {
    if (find_key(std::string(kPosition) + scheme + "." + option)) schemes.push_back(scheme);
  }
  return schemes;
}

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

Problem problem_of(const Assignment& assignment, std::string message, std::string hint) {
  return {.where = assignment.where,
          .key = assignment.key,
          .message = std::move(message),
          .hint = std::move(hint)};
}

// Sets one key. Remembers the assignment that set it if the text was a valid value.
class Resolver {
 public:
  Resolver(Problems& problems, Problems& contradictions)
      : problems_(problems), contradictions_(contradictions) {}

  void set(const std::string& given, const Assignment& assignment) {
    const auto former = kFormerNames.find(given);
    const std::string& name = former == kFormerNames.end() ? given : former->second;
    const Key* key = find_key(name);
    if (!key) {
      problems_.add(
          problem_of(assignment, "unknown key", suggestion(assignment.key, assignable_keys())));
      return;
    }
    // One key may have two spellings: position.base and position.rope.base, position and
    // position.scheme.
    const Assignment* const before = std::exchange(given_[name], &assignment);
    if (before && !assignment.list.empty() && before->list == assignment.list) {
      problems_.add(problem_of(
          assignment, "given twice, first at " + before->where + " as " + before->key, ""));
    }
    try {
      key->set(settings, assignment.text, assignment.folder);
      locations[name] = assignment.where;
      if (name == "stages") count_steps(assignment);
    } catch (const InvalidValue& invalid) {
      wrong.insert(name);
      const std::string got = assignment.text.empty() ? "nothing" : '"' + assignment.text + '"';
      problems_.add(
          problem_of(assignment, "got " + got + ", wanted " + invalid.what(), invalid.hint));
    }
  }

  // Sets an option of the chosen scheme.
  void set_option(const std::string& option, const Assignment& assignment) {
    const std::string name = std::string(kPosition) + settings.position.scheme + "." + option;
    if (find_key(name)) {
      set(name, assignment);
      return;
    }
    const std::vector<std::string> others = schemes_with(option);
    const std::vector<std::string> own = options_of(settings.position.scheme);
    std::string hint = suggestion(option, own);
    if (hint.empty() && !others.empty()) hint = "an option of " + join(others);
    contradictions_.add(problem_of(assignment,
                                   "position " + settings.position.scheme + " has no such option" +
                                       (own.empty() ? ", it has none" : ", it has " + join(own)),
                                   hint));
  }

  Settings settings;
  SourceLocations locations;
  std::set<std::string> wrong;

 private:
  Problems& problems_;
  Problems& contradictions_;
  std::map<std::string, const Assignment*> given_;  // the last assignment to each key

  // Stages decide the length of the training. A given number of steps is compared with them later.
  void count_steps(const Assignment& stages) {
    const auto steps = given_.find("training.steps");
    const bool beside = steps != given_.end() && steps->second->list == stages.list;
    if (settings.stages.empty() || beside) return;
    settings.training.steps = {static_cast<double>(total_steps(settings.stages))};
    locations.erase("training.steps");
  }
};

// Whether a file may give options of the scheme beside the present choice, because a composite
// scheme may contain it or a translator's decoder may use it.
bool is_part(const Assignment& implied, const std::vector<Assignment>& all,
             const Settings& settings) {
  const SchemeDefinition* const chosen = find_scheme_definition(settings.position.scheme);
  if (chosen != nullptr && chosen->parts) return true;
  return std::ranges::any_of(all, [&](const Assignment& other) {
    const bool beside = other.key == "position.decoder" || other.key == "position.cross";
    return beside && other.text == implied.text;
  });
}

}  // namespace

std::vector<Assignment> to_assignments(const std::vector<Override>& overrides) {
  std::vector<Assignment> assignments;
  for (const Override& given : overrides) {
    assignments.push_back(
        {.key = given.key, .text = given.text, .where = "--" + given.key, .folder = {}});
  }
  return assignments;
}

const std::vector<std::string>& assignable_keys() {
  static const auto keys = [] {
    std::vector<std::string> names{"position"};
    for (const std::string& key : shorthand_keys()) names.push_back(key);
    for (const Key& key : schema()) {
      names.push_back(key.name);
      if (key.scheme().empty()) continue;
      std::string short_name = std::string(kPosition) + key.name.substr(key.name.rfind('.') + 1);
      if (std::ranges::find(names, short_name) == names.end()) {
        names.push_back(std::move(short_name));
      }
    }
    return names;
  }();
  return keys;
}

bool may_mean_the_same(const std::string& left, const std::string& right) {
  const auto full = [](const std::string& key) {
    return key == "position" ? std::string("position.scheme") : key;
  };
  const auto covers = [](const std::string& brief, const std::string& key) {
    const std::string option = short_option(brief);
    const Key* const known = find_key(key);
    return !option.empty() && known && !known->scheme().empty() && key.ends_with("." + option);
  };
  return full(left) == full(right) || covers(left, right) || covers(right, left);
}

bool is_assignable(const std::string& key) {
  const auto& keys = assignable_keys();
  return std::ranges::find(keys, key) != keys.end();
}

Settings resolve(const std::vector<Assignment>& assignments, Problems& problems,
                 Problems& contradictions) {
  Resolver resolver(problems, contradictions);
  // Sets the scheme first, wherever it is in the list, because position.OPTION depends on it.
  for (const Assignment& assignment : assignments) {
    if (assignment.key != "position" && assignment.key != "position.scheme") continue;
    if (assignment.implied && is_part(assignment, assignments, resolver.settings)) continue;
    resolver.set("position.scheme", assignment);
  }
  for (const Assignment& assignment : assignments) {
    if (assignment.key == "position" || assignment.key == "position.scheme") continue;
    const std::string option = short_option(assignment.key);
    if (option.empty()) {
      resolver.set(assignment.key, assignment);
    } else {
      resolver.set_option(option, assignment);
    }
  }
  check(resolver.settings, resolver.locations, resolver.wrong, contradictions);
  return resolver.settings;
}

namespace {

constexpr std::string_view kSection = "position.";

const SchemeDefinition* scheme_of_section(const std::string& section) {
  if (!section.starts_with(kSection)) return nullptr;
  const SchemeDefinition* const scheme =
      find_scheme_definition(std::string_view(section).substr(kSection.size()));
  return scheme && scheme->shorthand ? scheme : nullptr;
}

// The scheme that an option chooses by itself, as `position.formula.bias` does. Null for all other
// keys.
const SchemeDefinition* scheme_that_is_said(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  if (dot == std::string::npos) return nullptr;
  const SchemeDefinition* const scheme = scheme_of_section(key.substr(0, dot));
  const bool said = scheme && scheme->says_itself && scheme->says_itself(key.substr(dot + 1));
  return said ? scheme : nullptr;
}

// Refuses a value that chooses its scheme if the list also chooses another scheme, because one of
// the two would be dropped. The layers of a composite scheme may have such a value.
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
  const Assignment* chosen = nullptr;  // the last assignment that names a scheme
  for (const Assignment& assignment : assignments) {
    if (assignment.key == "position" || assignment.key == "position.scheme") chosen = &assignment;
  }
  const SchemeDefinition* implied = nullptr;
  SourceLocation implied_at;
  bool by_option = false;
  const auto imply = [&](const SchemeDefinition& scheme, const Assignment& assignment,
                         bool option) {
    // The options of a composite scheme's parts may be given beside it.
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
