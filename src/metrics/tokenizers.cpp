#include "metrics/tokenizers.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <utility>

#include "metrics/code_points.h"
#include "metrics/substitute.h"
#include "text/utf8.h"

namespace roformer {
namespace {

// All classes of 13a and Tercom name ASCII, so bytes serve as characters in 13a: any byte may be
// beside them.
bool is_between(char32_t c, char32_t first, char32_t last) {
  return c >= first && c <= last;
}

bool is_ascii_symbol(char32_t c) {
  return is_between(c, '{', '~') || is_between(c, '[', '`') || is_between(c, ' ', '&') ||
         is_between(c, '(', '+') || is_between(c, ':', '@') || c == '/';
}

bool is_ascii_digit(char32_t c) {
  return is_between(c, '0', '9');
}

bool is_no_ascii_digit(char32_t c) {
  return !is_ascii_digit(c);
}

bool is_point(char32_t c) {
  return c == '.' || c == ',';
}

bool is_dash(char32_t c) {
  return c == '-';
}

template <typename Text>
void replace_all(Text& text, std::basic_string_view<typename Text::value_type> from,
                 std::basic_string_view<typename Text::value_type> to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != Text::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// Points beside no digit, and dashes after a digit, get a space on either side.
template <typename Text>
Text split_points(const Text& text) {
  const Text apart = substitute(substitute(text, PadSecond(), is_no_ascii_digit, is_point),
                                PadFirst(), is_point, is_no_ascii_digit);
  return substitute(apart, PadSecond(), is_ascii_digit, is_dash);
}

std::string split_ascii_punctuation(const std::string& line) {
  return split_points(pad(line, is_ascii_symbol));
}

// Ideographs, strokes, radicals, compatibility forms, enclosed letters. The last range reaches into
// the first one in sacreBLEU, too.
bool is_ideograph(char32_t c) {
  return is_between(c, 0x4E00, 0x9FFF) || is_between(c, 0x3400, 0x4DBF) ||
         is_between(c, 0x31C0, 0x31EF) || is_between(c, 0x2E80, 0x2EFF) ||
         is_between(c, 0x3300, 0x33FF) || is_between(c, 0xF900, 0xFAFF) ||
         is_between(c, 0xFE30, 0xFE4F) || is_between(c, 0x3200, 0x3F22);
}

bool is_asian_punctuation(char32_t c) {
  return c == 0x3001 || c == 0x3002 || is_between(c, 0x3008, 0x3011) ||
         is_between(c, 0x3014, 0x301F) || is_between(c, 0xFF61, 0xFF65) || c == 0x30FB ||
         std::u32string_view(U"．，？：；！＂（）").find(c) != std::u32string_view::npos;
}

bool is_tercom_punctuation(char32_t c) {
  return std::u32string_view(U".,?:;!\"()").find(c) != std::u32string_view::npos;
}

std::u32string normalized_for_tercom(std::u32string text) {
  static constexpr std::pair<std::u32string_view, std::u32string_view> kReplacements[] = {
      {U"\n-", U""},    {U"\n", U" "},   {U"&quot;", U"\""},
      {U"&amp;", U"&"}, {U"&lt;", U"<"}, {U"&gt;", U">"}};
  for (const auto& [from, to] : kReplacements) replace_all(text, from, to);
  text = pad(U" " + text + U" ", is_ascii_symbol);
  replace_all(text, U"'s ", U" 's ");
  return split_points(text);
}

struct Range {
  char32_t first, last;
};

// The last two are what sacreBLEU's ranges of the supplementary planes amount to: '\u20000' is two
// characters, and compares as such.
constexpr Range kChinese[] = {
    {0x3400, 0x4DB5}, {0x4E00, 0x9FA5}, {0x9FA6, 0x9FBB}, {0xF900, 0xFA2D}, {0xFA30, 0xFA6A},
    {0xFA70, 0xFAD9}, {0xFF00, 0xFFEF}, {0x2E80, 0x2EFF}, {0x3000, 0x303F}, {0x31C0, 0x31EF},
    {0x2F00, 0x2FDF}, {0x2FF0, 0x2FFF}, {0x3100, 0x312F}, {0x31A0, 0x31BF}, {0xFE10, 0xFE1F},
    {0xFE30, 0xFE4F}, {0x2600, 0x26FF}, {0x2700, 0x27BF}, {0x3200, 0x32FF}, {0x3300, 0x33FF},
    {0x2001, 0x2A6D}, {0x2F81, 0x2FA1},
};

bool is_chinese(char32_t c) {
  return std::ranges::any_of(
      kChinese, [c](const Range& range) { return is_between(c, range.first, range.last); });
}

template <std::uint32_t categories>
bool is_of(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & categories) != 0;
}

template <std::uint32_t categories>
bool is_not_of(char32_t c) {
  return !is_of<categories>(c);
}

}  // namespace

std::string tokenize_13a(std::string_view line) {
  static constexpr std::pair<std::string_view, std::string_view> kReplacements[] = {
      {"<skipped>", ""}, {"-\n", ""},   {"\n", " "},  {"&quot;", "\""},
      {"&amp;", "&"},    {"&lt;", "<"}, {"&gt;", ">"}};
  std::string text(line);
  for (const auto& [from, to] : kReplacements) replace_all(text, from, to);
  return split_ascii_punctuation(" " + text + " ");
}

std::string tokenize_international(std::string_view line) {
  std::u32string text = to_code_points(line);
  text = substitute(text, PadSecond(), is_not_of<U_GC_N_MASK>, is_of<U_GC_P_MASK>);
  text = substitute(text, PadFirst(), is_of<U_GC_P_MASK>, is_not_of<U_GC_N_MASK>);
  return to_utf8(pad(text, is_of<U_GC_S_MASK>));
}

std::string tokenize_characters(std::string_view line) {
  std::string text;
  text.reserve(2 * line.size());
  for (std::size_t position = 0; position < line.size();) {
    const std::size_t start = position;
    next_code_point(line, position);
    text.append(line.substr(start, position - start)) += ' ';
  }
  return text;
}

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
  return split_ascii_punctuation(text);
}

std::string tokenize_tercom(std::string_view line, const TercomRules& rules) {
  const std::string lowered = rules.case_sensitive ? std::string(line) : lower_case(line);
  if (!rules.normalized && !rules.no_punctuation) return lowered;
  std::u32string text = to_code_points(lowered);
  if (rules.normalized && !text.empty()) {
    text = normalized_for_tercom(std::move(text));
    if (rules.asian_support) {
      text = pad(text, [](char32_t c) { return is_ideograph(c) || is_asian_punctuation(c); });
    }
  }
  if (rules.no_punctuation) {
    std::erase_if(text, is_tercom_punctuation);
    if (rules.asian_support) std::erase_if(text, is_asian_punctuation);
  }
  return to_utf8(text);
}

}  // namespace roformer
