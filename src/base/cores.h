// How many cores this process may use: the processor's, less what its affinity or the quota of its
// container (control group, version 1 or 2) leaves out. More threads than that only wait for each
// other.
#pragma once

#include <cstdint>
#include <filesystem>

namespace roformer {

// A quota may be a fraction: 0.5 is half the time of one core. `root`: where the system's files
// are.
double usable_cores(const std::filesystem::path& root = "/");

// As whole threads, at least one.
std::int64_t usable_threads(const std::filesystem::path& root = "/");

}  // namespace roformer
