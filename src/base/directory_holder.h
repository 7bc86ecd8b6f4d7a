// Tells who holds a directory's lock (directory_lock.h) without waiting for it: for lists of runs.
#pragma once

#include <filesystem>
#include <string>

namespace roformer {

// "process 12 on HOST"; "" if nobody holds the directory. Changes nothing in it. If the kernel
// cannot tell, since the holder is on another machine or the file system has no locks, the holder
// counts as alive while its signs of life are younger than half a minute.
std::string directory_holder(const std::filesystem::path& directory);

}  // namespace roformer
