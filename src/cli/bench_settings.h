// The settings of benchmarks that train on random tokens.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "config/load.h"

namespace roformer {

// Throws Error (usage) as load_settings does, for another task than these, and where the file gives
// no size of a vocabulary.
Settings load_benchmark_settings(const std::string& file, const std::vector<Override>& overrides,
                                 std::initializer_list<TaskKind> tasks);

// What `bench mlm` and its like train.
inline constexpr std::initializer_list<TaskKind> kLanguageModels = {TaskKind::mlm,
                                                                    TaskKind::causal_lm};

}  // namespace roformer
