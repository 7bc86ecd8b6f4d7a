#include <algorithm>

#include "metrics/code_points.h"
#include "metrics/substitute.h"
#include "metrics/ter.h"

namespace roformer {
namespace {
namespace tercom {  // its classes are other ones than Unicode's

bool is_between(char32_t c, char32_t first, char32_t last) {
  return c >= first && c <= last;
}

bool is_symbol(char32_t c) {
  return is_between(c, '{', '~') || is_between(c, '[', '`') || is_between(c, ' ', '&') ||
         is_between(c, '(', '+') || is_between(c, ':', '@') || c == '/';
}

bool is_digit(char32_t c) {
  return is_between(c, '0', '9');
}

bool is_no_digit(char32_t c) {
  return !is_digit(c);
}

bool is_point(char32_t c) {
  return c == '.' || c == ',';
}

bool is_dash(char32_t c) {
  return c == '-';
}

// Ideographs, strokes, radicals, compatibility forms, enclosed letters; the last range reaches into
// the first one in sacreBLEU too.
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

bool is_punctuation(char32_t c) {
  return std::u32string_view(U".,?:;!\"()").find(c) != std::u32string_view::npos;
}

void replace_all(std::u32string& text, std::u32string_view from, std::u32string_view to) {
  std::size_t position = 0;
  while ((position = text.find(from, position)) != std::u32string::npos) {
    text.replace(position, from.size(), to);
    position += to.size();
  }
}

std::u32string normalized(std::u32string text) {
  replace_all(text, U"\n-", U"");
  replace_all(text, U"\n", U" ");
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  text = pad(U" " + text + U" ", is_symbol);
  replace_all(text, U"'s ", U" 's ");
  text = substitute(text, PadSecond(), is_no_digit, is_point);
  text = substitute(text, PadFirst(), is_point, is_no_digit);
  return substitute(text, PadSecond(), is_digit, is_dash);
}

}  // namespace tercom
}  // namespace

std::string tokenize_tercom(std::string_view line, const TerSettings& settings) {
  const std::string lowered = settings.case_sensitive ? std::string(line) : lower_case(line);
  if (!settings.normalized && !settings.no_punctuation) return lowered;
  std::u32string text = to_code_points(lowered);
  if (settings.normalized && !text.empty()) {
    text = tercom::normalized(std::move(text));
    if (settings.asian_support) {
      text = pad(text, [](char32_t c) {
        return tercom::is_ideograph(c) || tercom::is_asian_punctuation(c);
      });
    }
  }
  if (settings.no_punctuation) {
    std::erase_if(text, tercom::is_punctuation);
    if (settings.asian_support) std::erase_if(text, tercom::is_asian_punctuation);
  }
  return to_utf8(text);
}

}  // namespace roformer
