// Checks across keys: contradictions that no single value shows. Each message says in words what
// does not go together and what would.
#pragma once

#include <set>
#include <string>

#include "config/contradictions.h"
#include "config/problems.h"
#include "config/settings.h"

namespace roformer {

// `wrong`: keys whose value was refused before; they have their default here, and what would
// contradict it is not reported.
void check(const Settings& settings, const SourceLocations& locations,
           const std::set<std::string>& wrong, Problems& problems);

// Whether it can be the name of one folder inside another.
bool is_folder_name(const std::string& name);

}  // namespace roformer
