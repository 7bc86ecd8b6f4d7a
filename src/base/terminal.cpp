#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unicode/uchar.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/parts.h"
#include "base/printable.h"

namespace roformer {

bool is_smart_terminal(int descriptor) {
  const char* const kind = std::getenv("TERM");
  const bool dumb = kind != nullptr && kind == std::string_view("dumb");
  return ::isatty(descriptor) != 0 && !dumb;
}

bool wants_color(int descriptor) {
  const char* const plain = std::getenv("NO_COLOR");
  return is_smart_terminal(descriptor) && (plain == nullptr || *plain == '\0');
}

std::size_t terminal_columns(int descriptor, std::size_t otherwise) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

namespace {

std::size_t columns_of(const NextCharacter& character) {
  constexpr char32_t kSoftHyphen = 0xAD;
  if (!character.valid || character.code == kSoftHyphen) return 1;
  const auto code = static_cast<UChar32>(character.code);
  if ((U_GET_GC_MASK(code) & (U_GC_MN_MASK | U_GC_ME_MASK | U_GC_CF_MASK)) != 0) return 0;
  const int width = u_getIntPropertyValue(code, UCHAR_EAST_ASIAN_WIDTH);
  return width == U_EA_WIDE || width == U_EA_FULLWIDTH ? 2 : 1;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const NextCharacter character = next_character(text);
    columns += columns_of(character);
    text.remove_prefix(character.bytes);
  }
  return columns;
}

std::string cut_to_columns(std::string_view text, std::size_t columns) {
  std::size_t used = 0, kept = 0;  // bytes that fit beside an ellipsis
  for (std::size_t at = 0; at < text.size();) {
    const NextCharacter character = next_character(text.substr(at));
    used += columns_of(character);
    if (used > columns) return std::string(text.substr(0, kept)) + (columns > 0 ? "…" : "");
    at += character.bytes;
    if (used < columns) kept = at;
  }
  return std::string(text);
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

std::vector<std::string> wrap_text(std::string_view text, std::size_t columns) {
  columns = std::max<std::size_t>(columns, 2);  // room for one wide character
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  for (std::string_view word : split_at(text, ' ')) {
    const std::size_t gap = lines.back().empty() ? 0 : 1;
    if (used + gap + columns_of(word) <= columns) {
      lines.back().append(gap, ' ').append(word);
      used += gap + columns_of(word);
      continue;
    }
    if (gap == 1) {
      lines.emplace_back();
      used = 0;
    }
    while (!word.empty()) {
      const NextCharacter character = next_character(word);
      if (used + columns_of(character) > columns) {
        lines.emplace_back();
        used = 0;
      }
      lines.back().append(word.substr(0, character.bytes));
      used += columns_of(character);
      word.remove_prefix(character.bytes);
    }
  }
  return lines;
}

}  // namespace roformer
