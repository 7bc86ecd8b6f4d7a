#include "report/text_width.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace roformer {
namespace {

struct Character {
  std::size_t bytes = 1;
  std::size_t cells = 1;
};

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};
// The blocks of Unicode 15 that terminals draw over the previous cell, or over two.
constexpr std::array<Range, 5> kCombining{
    {{0x300, 0x36f}, {0x1ab0, 0x1aff}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}}};
constexpr std::array<Range, 8> kWide{{{0x1100, 0x115f},
                                      {0x2e80, 0xa4cf},
                                      {0xac00, 0xd7a3},
                                      {0xf900, 0xfaff},
                                      {0xfe30, 0xfe6f},
                                      {0xff00, 0xff60},
                                      {0x1f300, 0x1faff},
                                      {0x20000, 0x3fffd}}};

template <std::size_t size>
bool contains(const std::array<Range, size>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

// The first character of text that is not empty; a byte that is not UTF-8 counts as one cell.
Character first_character(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
  if (bytes == 1 || bytes > text.size()) return {};
  std::uint32_t code = lead & (0x7f >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code = code << 6 | (byte & 0x3f);
  }
  return {.bytes = bytes,
          .cells = contains(kCombining, code) ? 0u
                   : contains(kWide, code)    ? 2u
                                              : 1u};
}

}  // namespace

std::size_t display_width(std::string_view utf8) {
  std::size_t cells = 0;
  while (!utf8.empty()) {
    const Character character = first_character(utf8);
    cells += character.cells;
    utf8.remove_prefix(character.bytes);
  }
  return cells;
}

std::vector<std::string> wrap_text(std::string_view utf8, std::size_t width) {
  width = std::max<std::size_t>(width, 2);  // room for one wide character
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  while (!utf8.empty()) {
    const std::size_t space = std::min(utf8.find(' '), utf8.size());
    std::string_view word = utf8.substr(0, space);
    utf8.remove_prefix(std::min(space + 1, utf8.size()));
    const std::size_t gap = lines.back().empty() ? 0 : 1;
    if (used + gap + display_width(word) <= width) {
      lines.back().append(gap, ' ').append(word);
      used += gap + display_width(word);
      continue;
    }
    if (gap == 1) {
      lines.emplace_back();
      used = 0;
    }
    while (!word.empty()) {
      const Character character = first_character(word);
      if (used + character.cells > width) {
        lines.emplace_back();
        used = 0;
      }
      lines.back().append(word.substr(0, character.bytes));
      used += character.cells;
      word.remove_prefix(character.bytes);
    }
  }
  return lines;
}

}  // namespace roformer
