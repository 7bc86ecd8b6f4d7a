// `roformer bench positions`: the cost of the positional schemes in one table.
#pragma once

#include <CLI/CLI.hpp>

namespace roformer {

void add_bench_positions(CLI::App& bench);

}  // namespace roformer
