// What a run of a protocol comes from, as keys with their values: the recipe that all rows share,
// and of each row the options of its scheme. Figures compare where both agree.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "config/settings.h"
#include "experiments/declaration/study_settings.h"

namespace roformer {

// Keys with their values.
using KeyTexts = std::map<std::string, std::string>;

// What every run of the study has, but for what its rows differ in.
KeyTexts recipe_of(const StudySettings& study);

// The options of the settings' scheme, or of those that it puts together, that are not at their
// defaults.
KeyTexts options_of(const Settings& settings);

// Key by key, in words for people; "" for none. What only one side has, because the other's program
// was older, is at its default there.
std::string key_differences(const KeyTexts& own, const KeyTexts& wanted);
// The same for the data (run_result.h).
std::string data_differences_text(const nlohmann::json& own, const nlohmann::json& wanted);

}  // namespace roformer
