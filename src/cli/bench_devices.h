// `roformer bench devices`: whether a device trains as the CPU does.
#pragma once

#include <CLI/CLI.hpp>

namespace roformer {

void add_bench_devices(CLI::App& bench);

}  // namespace roformer
