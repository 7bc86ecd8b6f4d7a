// When another scheme is tried on trained weights, it keeps the options that it shares with the
// trained scheme (base, layout) unless they are given. If layers differ, each keeps its own
// options.
#pragma once

#include <vector>

#include "config/assignment.h"
#include "config/settings.h"

namespace roformer {

// Returns the overrides with the shared options added. `stored`: the settings of the training.
// Throws Error (usage) if one scheme is to replace layers that were trained with different options
// of it.
std::vector<Override> with_shared_options(const Settings& stored,
                                          const std::vector<Override>& overrides);

}  // namespace roformer
