// The amount of memory, and errors that a lack of memory causes.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace roformer {

// Bytes that this process may still take: the free part of the system's memory or of the control
// group's limit. 0 if the system does not tell.
std::uint64_t available_memory();

// Bytes of the system's memory, or of the container's limit if that is lower; 0 if unknown.
std::uint64_t total_memory();

// The largest number of bytes of host memory that this program has held since its start, without
// the program that ran in this process before exec; 0 if the system does not tell.
std::uint64_t peak_memory();

// "not enough memory for another 37.3 GiB" for an error that a lack of memory caused (LibTorch's
// message has many lines); nothing for any other error.
std::optional<std::string> lack_of_memory(const std::exception& error);

}  // namespace roformer
