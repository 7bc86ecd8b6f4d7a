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
#include "config/shorthand.h"
#include "config/suggest.h"

namespace roformer {
namespace {

constexpr std::string_view kPosition = "position.";

// What keys were called before, which stored runs still say.
const std::map<std::string, std::string> kFormerNames{
    {"data.masking.whole_word", "data.masking.whole_words"}};

// "buckets" for position.buckets, which means the chosen scheme's; "" for anything else.
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

// Sets one key; remembers where it was set when the text was a value.
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
    // Two spellings of one key: position.base and position.rope.base, position and position.scheme.
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

  // An option of the scheme that has been chosen.
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
  std::map<std::string, const Assignment*> given_;  // what set a key last

  // Stages say how long the training is, unless it is said beside them, which is then compared.
  void count_steps(const Assignment& stages) {
    const auto steps = given_.find("training.steps");
    const bool beside = steps != given_.end() && steps->second->list == stages.list;
    if (settings.stages.empty() || beside) return;
    settings.training.steps = {static_cast<double>(total_steps(settings.stages))};
    locations.erase("training.steps");
  }
};

// Whether options of the scheme may stand beside the choice so far: it is one of several schemes
// that a composite one puts together, or a translator's decoder has it.
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
      if (std::find(names.begin(), names.end(), short_name) == names.end()) {
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
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

Settings resolve(const std::vector<Assignment>& assignments, Problems& problems,
                 Problems& contradictions) {
  Resolver resolver(problems, contradictions);
  // The scheme first: what position.OPTION means depends on it, wherever in the list it is chosen.
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

}  // namespace roformer
