// `roformer bench scaling`: steps of several processes on this machine.
#pragma once

#include "cli/command.h"

namespace roformer {

void add_bench_scaling(CLI::App& bench);

}  // namespace roformer
