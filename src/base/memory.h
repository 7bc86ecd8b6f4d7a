// How much memory there is, and what an error says of the lack of it.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace roformer {

// Bytes that this process may still take: what the system has left, or the control group's limit.
// 0 where the system does not tell.
std::uint64_t available_memory();

// The most bytes of the host's memory that this program has held since it was started (not counting
// what the process was before exec); 0 where the system does not tell.
std::uint64_t peak_memory();

// "not enough memory for another 37.3 GiB" of an error that came of a lack of memory (LibTorch's
// have many lines); nothing of any other.
std::optional<std::string> lack_of_memory(const std::exception& error);

}  // namespace roformer
