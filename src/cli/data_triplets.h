// The commands of `data` that make triplets of texts and measure a baseline on them.
#pragma once

#include <CLI/CLI.hpp>

namespace roformer {

void add_triplets_command(CLI::App& data);
void add_baseline_command(CLI::App& data);

}  // namespace roformer
