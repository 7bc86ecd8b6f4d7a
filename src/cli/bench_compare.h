// `roformer bench compare`.
#pragma once

#include <CLI/CLI.hpp>

namespace roformer {

void add_bench_compare(CLI::App& bench);

}  // namespace roformer
