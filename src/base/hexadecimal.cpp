#include "base/hexadecimal.h"

#include <fmt/format.h>

#include <charconv>

namespace roformer {

constexpr std::size_t kDigits = 16;

std::string hexadecimal(std::uint64_t value) {
  return fmt::format("{:0{}x}", value, kDigits);
}

std::optional<std::uint64_t> parse_hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc() || stop != end || text.size() != kDigits) return std::nullopt;
  return value;
}

}  // namespace roformer
