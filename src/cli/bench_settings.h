// The settings of benchmarks that train on random tokens.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace roformer {

// Throws Error (usage) as load_settings does, and where the file gives no size of a vocabulary.
Settings load_benchmark_settings(const std::string& file, const std::vector<Override>& overrides);

}  // namespace roformer
