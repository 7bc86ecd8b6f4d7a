// The keys that decide a protocol's results: the recipe that all rows share, and the options of
// each row's scheme. Figures are comparable only if both agree.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/settings.h"
#include "experiments/declaration/study_settings.h"

namespace roformer {

// Keys with their values.
using KeyTexts = std::map<std::string, std::string>;

// The keys that all runs of the study share.
KeyTexts recipe_of(const StudySettings& study);

// The options of the settings' scheme, or of its parts, that are not at their defaults.
KeyTexts options_of(const Settings& settings);

// The differing keys in words; "" if there are none. If one side lacks a key because its program
// was older, the key has its default there.
std::string key_differences(const KeyTexts& own, const KeyTexts& wanted);
// The same for the data (run_result.h).
std::string data_differences_text(const nlohmann::json& own, const nlohmann::json& wanted);

}  // namespace roformer
