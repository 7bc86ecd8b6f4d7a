// How much memory there is, and errors that come from a lack of it.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace roformer {

// Bytes that this process may still take: the rest of the system's memory or of the control group's
// limit. 0 where the system does not tell.
std::uint64_t available_memory();

// Bytes of the system's memory, or of the container's limit where that is lower; 0 where unknown.
std::uint64_t total_memory();

// The most bytes of the host's memory that this program has held since its start (without what ran
// in the process before exec); 0 where the system does not tell.
std::uint64_t peak_memory();

// "not enough memory for another 37.3 GiB" for an error that came from a lack of memory (LibTorch's
// have many lines); nothing for any other error.
std::optional<std::string> lack_of_memory(const std::exception& error);

}  // namespace roformer
