#include <algorithm>
#include <array>

#include "metrics/bleu_tokenizers.h"
#include "metrics/code_points.h"
#include "text/utf8.h"

namespace roformer {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// The last two are what sacreBLEU's ranges of the supplementary planes come to: '\u20000' is two
// characters, and compares as such.
constexpr std::array<Range, 22> kChinese = {{
    {0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
    {0xFA70, 0xFAD9}, {0xFF00, 0xFFEF}, {0x2E80, 0x2EFF}, {0x3000, 0x303F}, {0x31C0, 0x31EF},
    {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0xFE10, 0xFE1F},
    {0xFE30, 0xFE4F}, {0x2600, 0x26FF}, {0x2700, 0x27BF}, {0x3200, 0x32FF}, {0x3300, 0x33FF},
    {0x2001, 0x2A6D}, {0x2F81, 0x2FA1},
}};

bool is_chinese(char32_t c) {
  return std::ranges::any_of(kChinese,
                             [c](Range range) { return c >= range.first && c <= range.last; });
}

}  // namespace

std::string tokenize_chinese(std::string_view line) {
  line = without_outer_spaces(line);
  std::string text;
  text.reserve(2 * line.size());
  for (std::size_t position = 0; position < line.size();) {
    const std::size_t start = position;
    const bool apart = is_chinese(next_code_point(line, position));
    if (apart) text += ' ';
    text.append(line.substr(start, position - start));
    if (apart) text += ' ';
  }
  return split_ascii_punctuation(std::move(text));
}

}  // namespace roformer
