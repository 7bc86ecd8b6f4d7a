// `roformer bench attention`: the cost of the kernels of attention against the length of the text.
#pragma once

#include <CLI/CLI.hpp>

namespace roformer {

void add_bench_attention(CLI::App& bench);

}  // namespace roformer
