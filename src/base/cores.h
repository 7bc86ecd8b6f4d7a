// The cores that this process may use, and work that several threads share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

namespace roformer {

// The processor's cores, limited by the process's affinity and by the quota of its container
// (control groups of version 1 or 2). A quota may be a fraction: 0.5 is half of one core's time.
// `root`: the folder that holds the system's files.
double usable_cores(const std::filesystem::path& root = "/");

// The same limit as a number of whole threads, at least one. More threads would only wait for each
// other.
std::int64_t usable_threads(const std::filesystem::path& root = "/");

// Calls work(i) once for each i below `count` from at most `threads` threads, and returns after the
// last call. An exception stops the work and is rethrown here.
void on_threads(std::size_t count, std::int64_t threads,
                const std::function<void(std::size_t)>& work);

}  // namespace roformer
