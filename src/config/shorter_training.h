// A training that flags make shorter than its file has it: its warm-up must still fit into it, and
// all of it can be tried in two steps.
#pragma once

#include <string>
#include <vector>

#include "config/assignment.h"
#include "config/settings.h"

namespace roformer {

// Where the last word on training.steps is a flag and that on training.warmup is not, a warm-up
// that is longer than the training, or cannot be compared with it (minutes beside another unit),
// becomes a tenth of it, as one more assignment. Returns the line that says so; empty where all
// stays as it is. A file that contradicts itself is not mended: its author should know.
std::string shorten_warmup(std::vector<Assignment>& assignments);

// The flags that make a training one of two steps (of each stage), each of them logged, with one
// validation at its end (of each stage) of a few rows, where the task can be told so, and another
// name: "NAME-smoke".
std::vector<Override> smoke_flags(const Settings& settings);

}  // namespace roformer
