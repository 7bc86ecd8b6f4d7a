// Text of a foreign file inside a message.
#pragma once

#include <string>
#include <string_view>

namespace roformer {

// In double quotes, at most 80 bytes, without control characters.
std::string printable(std::string_view text);

}  // namespace roformer
