// Another scheme on trained weights keeps the options that it shares with the trained scheme (base,
// layout), unless they are given. Where layers differ, each layer keeps its own options.
#pragma once

#include <vector>

#include "config/assignment.h"
#include "config/settings.h"

namespace roformer {

// The overrides with those options added. `stored`: the settings of the training. Throws Error
// (usage) for one scheme on layers that were trained with different options of it.
std::vector<Override> with_shared_options(const Settings& stored,
                                          const std::vector<Override>& overrides);

}  // namespace roformer
