// What a classifier scores that has learned nothing but which class is the commonest of the
// training set: the row that every table of GLUE scores is read against. MRPC's F1 of it is 81.2.
#pragma once

#include <optional>

#include "config/settings.h"

namespace roformer {

inline constexpr const char* kCommonestClass = "always the commonest class";

// By the task's own metric (study metric "score") on the validation set. Nothing for a task without
// classes, and where the data cannot be read.
std::optional<double> commonest_class_score(const Settings& settings);

}  // namespace roformer
