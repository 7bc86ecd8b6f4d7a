#include "base/printable.h"

namespace roformer {

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string result = "\"";
  for (const char c : text.substr(0, kLongest)) {
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  return result + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace roformer
