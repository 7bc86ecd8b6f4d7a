// 64-bit hashes as text, because other programs lose bits of such numbers in JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace roformer {

// 16 digits, "00000000deadbeef".
std::string hexadecimal(std::uint64_t value);
// Returns nothing for a text that is not 16 hexadecimal digits.
std::optional<std::uint64_t> parse_hexadecimal(std::string_view text);

}  // namespace roformer
