// `roformer bench decoding`.
#pragma once

#include <CLI/CLI.hpp>

namespace roformer {

void add_bench_decoding(CLI::App& bench);

}  // namespace roformer
