#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/printable.h"

namespace roformer {

bool wants_color(int descriptor) {
  const char* const plain = std::getenv("NO_COLOR");
  return ::isatty(descriptor) != 0 && (plain == nullptr || *plain == '\0');
}

std::size_t terminal_columns(int descriptor, std::size_t otherwise) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

std::string cut_to_columns(std::string_view text, std::size_t columns) {
  std::size_t width = 0, last = 0;  // where the last column that is kept beside an ellipsis begins
  for (std::size_t index = 0; index < text.size(); ++index) {
    if ((static_cast<unsigned char>(text[index]) & 0xc0) == 0x80) continue;
    if (++width == columns) last = index;
    if (width > columns) return std::string(text.substr(0, last)) + (columns > 0 ? "…" : "");
  }
  return std::string(text);
}

std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string wrapped(std::string_view text, std::size_t columns) {
  std::string result;
  std::size_t width = 0;
  std::istringstream words{clean_text(text)};
  for (std::string word; words >> word;) {
    const std::size_t own = columns_of(word);
    if (width > 0) result += width + 1 + own > columns ? '\n' : ' ';
    width = width > 0 && width + 1 + own <= columns ? width + 1 + own : own;
    result += word;
  }
  return result;
}

}  // namespace roformer
