// `roformer bench checks`: what comparing checksums costs.
#pragma once

#include "cli/command.h"

namespace roformer {

void add_bench_checks(CLI::App& bench);

}  // namespace roformer
