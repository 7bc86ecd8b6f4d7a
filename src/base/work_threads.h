// Work on a number of items by several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace roformer {

// Calls work(i) once for each i below `count`, from at most `threads` threads, and returns when all
// is done. An exception stops the work and is thrown here.
void on_threads(std::size_t count, std::int64_t threads,
                const std::function<void(std::size_t)>& work);

}  // namespace roformer
