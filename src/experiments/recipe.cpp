#include "experiments/recipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "config/position_facts.h"
#include "config/schema.h"
#include "experiments/run_result.h"

namespace roformer {
namespace {

bool is_axis(const StudySettings& study, const std::string& key) {
  return std::ranges::any_of(study.axes, [&](const StudyAxis& axis) { return axis.key == key; });
}

bool is_tuned(const StudySettings& study, const std::string& key) {
  if (!study.tuning) return false;
  const std::vector<std::string>& keys = study.tuning->keys;
  return std::ranges::find(keys, key) != keys.end();
}

}  // namespace

KeyTexts recipe_of(const StudySettings& study) {
  KeyTexts recipe;
  const Settings& settings = study.runs.front().settings;
  for (const Key& key : schema()) {
    const bool of_row = key.type == KeyType::path || key.name == "run" || key.name == "seed" ||
                        key.name.starts_with("position.") || is_axis(study, key.name) ||
                        is_tuned(study, key.name);
    if (of_row || !key.is_compared() || !key.applies_to(settings.task)) continue;
    recipe[key.name] = key.get(settings);
  }
  if (study.tuning) {
    std::string values;
    for (const StudyAxis& axis : study.tuning->study->axes) {
      if (!is_tuned(study, axis.key)) continue;
      values += fmt::format("{} of {}; ", axis.key, fmt::join(axis.values, ", "));
    }
    if (!study.tuning->start.empty()) {
      values += fmt::format("from {} on; ", fmt::join(study.tuning->start, ", "));
    }
    recipe["tune"] = values + study.tuning->with;
  }
  return recipe;
}

KeyTexts options_of(const Settings& settings) {
  KeyTexts options;
  const Settings defaults;
  for (const Key& key : schema()) {
    if (key.scheme().empty() || !uses_scheme(settings.position, key.scheme())) continue;
    if (key.get(settings) != key.get(defaults)) options[key.name] = key.get(settings);
  }
  return options;
}

std::string key_differences(const KeyTexts& own, const KeyTexts& wanted) {
  std::vector<std::string> differences;
  const auto shown = [](const KeyTexts& texts, const std::string& name) -> std::string {
    if (const auto found = texts.find(name); found != texts.end()) return found->second;
    const Key* const key = find_key(name);
    return key == nullptr ? "not known" : key->default_text();
  };
  KeyTexts all = own;
  all.insert(wanted.begin(), wanted.end());
  for (const auto& [key, value] : all) {
    if (shown(own, key) == shown(wanted, key)) continue;
    differences.push_back(fmt::format("{} {}, here {}", key, shown(own, key), shown(wanted, key)));
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

std::string data_differences_text(const nlohmann::json& own, const nlohmann::json& wanted) {
  std::vector<std::string> differences;
  for (const DataDifference& fact : data_differences(own, wanted)) {
    differences.push_back(fmt::format("{} {}, here {}", fact.title, fact.one, fact.other));
  }
  return fmt::format("{}", fmt::join(differences, "; "));
}

}  // namespace roformer
