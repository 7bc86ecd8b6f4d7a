// What a run says of its scheme before it begins.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/settings.h"

namespace roformer {

// Of options without effect in rows as long as the training's longest.
std::vector<std::string> position_remarks(const Settings& settings);

}  // namespace roformer
