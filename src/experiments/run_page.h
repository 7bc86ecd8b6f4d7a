// The page of one or several runs, made of what they stored: curves, settings, figures and how each
// was made. For `roformer report` and `roformer runs compare --chart`.
#pragma once

#include <string>
#include <vector>

#include "base/origin.h"
#include "experiments/stored_run.h"

namespace roformer {

// One HTML file. `runs` are readable and not empty; `others` are runs among which to look for those
// that start from them.
std::string run_page(const std::vector<StoredRun>& runs, const std::vector<StoredRun>& others,
                     const Origin& origin);

}  // namespace roformer
