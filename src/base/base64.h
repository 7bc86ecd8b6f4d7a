// Base64 (RFC 4648, section 4), in which other programs write bytes inside text files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace roformer {

// The bytes of a text of letters, digits, "+", "/" and at most two "=" at its end. Nothing for any
// other text.
std::optional<std::string> decode_base64(std::string_view text);

}  // namespace roformer
