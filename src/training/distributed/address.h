// Which of this machine's addresses another one sees: its own name often stands for one that only
// it can reach.
#pragma once

#include <optional>
#include <string>

namespace roformer {

// The address, in figures, from which `host` would be reached; nothing where it cannot be.
std::optional<std::string> address_towards(const std::string& host);

}  // namespace roformer
