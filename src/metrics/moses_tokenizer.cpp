#include "metrics/moses_tokenizer.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <vector>

#include "metrics/code_points.h"
#include "metrics/substitute.h"

namespace roformer {
namespace {

// A run of N dots is one character of its own while the rules run: this plus N.
constexpr char32_t kDots = 0x110000;

bool is_space_of_perl(char32_t c) {
  return u_isUWhiteSpace(static_cast<UChar32>(c));
}

bool is_letter(char32_t c) {
  return u_isUAlphabetic(static_cast<UChar32>(c));
}

bool is_no_letter(char32_t c) {
  return !is_letter(c);
}

bool is_number(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_N_MASK) != 0;
}

bool is_no_number(char32_t c) {
  return !is_number(c);
}

bool is_neither(char32_t c) {
  return !is_letter(c) && !is_number(c);
}

bool is_special(char32_t c) {
  return !is_letter(c) && !u_isdigit(static_cast<UChar32>(c)) && !is_space_of_perl(c) &&
         std::u32string_view(U".'`,-").find(c) == std::u32string_view::npos;
}

bool is_comma(char32_t c) {
  return c == ',';
}

bool is_apostrophe(char32_t c) {
  return c == '\'';
}

bool is_lower_s(char32_t c) {
  return c == 's';
}

bool starts_lower(std::u32string_view word) {
  return !word.empty() && u_isULowercase(static_cast<UChar32>(word[0]));
}

bool starts_with_digit(std::u32string_view word) {
  return !word.empty() && word[0] >= '0' && word[0] <= '9';
}

// Every run of white space one space, none outside, no other control characters of ASCII.
std::u32string clean(std::string_view line) {
  std::u32string result;
  for (const char32_t c : to_code_points(line)) {
    if (is_space_of_perl(c)) {
      if (!result.empty() && result.back() != ' ') result += U' ';
    } else if (c > 31) {
      result += c;
    }
  }
  if (result.ends_with(U' ')) result.pop_back();
  return result;
}

std::u32string with_runs_of_dots(const std::u32string& text) {
  std::u32string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(U'.', i), text.size());
    const std::size_t dots = end - i;
    if (dots < 2) {
      result += text[i++];
      continue;
    }
    (result += U' ') += kDots + static_cast<char32_t>(dots);
    if (end < text.size()) result += U' ';
    i = end;
  }
  return result;
}

std::u32string split_commas(std::u32string text) {
  const auto behind = [](std::u32string& result, const char32_t* c) {
    result += c[0];
    result += U" , ";
  };
  const auto before = [](std::u32string& result, const char32_t* c) {
    result += U" , ";
    result += c[1];
  };
  text = substitute(text, behind, is_no_number, is_comma);
  text = substitute(text, before, is_comma, is_no_number);
  if (text.size() > 1 && text.ends_with(U',') && is_number(text[text.size() - 2])) {
    text.insert(text.size() - 1, U" ");
  }
  return text;
}

std::u32string split_apostrophes(std::u32string text, MosesLanguage language) {
  if (language == MosesLanguage::german) return pad(text, is_apostrophe);
  const auto apart = [](std::u32string& result, const char32_t* c) {
    result += c[0];
    result += U" ' ";
    result += c[2];
  };
  const auto right = [](std::u32string& result, const char32_t* c) {
    result += c[0];
    result += U" '";
    result += c[2];
  };
  text = substitute(text, apart, is_no_letter, is_apostrophe, is_no_letter);
  text = substitute(text, apart, is_neither, is_apostrophe, is_letter);
  text = substitute(text, apart, is_letter, is_apostrophe, is_no_letter);
  text = substitute(text, right, is_letter, is_apostrophe, is_letter);
  return substitute(text, right, is_number, is_apostrophe, is_lower_s);  // 1990's
}

// At single spaces: two of them have an empty word between, which the rule below looks at.
std::vector<std::u32string_view> split_at_spaces(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(U' ', start), text.size());
    words.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  while (!words.empty() && words.back().empty()) words.pop_back();
  return words;
}

// True where the period of a word stays with it.
bool keeps_period(std::u32string_view stem, std::u32string_view next, MosesLanguage language) {
  const bool dotted = stem.find(U'.') != std::u32string_view::npos;
  if (dotted && std::ranges::any_of(stem, is_letter)) return true;
  if (starts_lower(next)) return true;
  switch (moses_prefix(to_utf8(stem), language)) {
    case MosesPrefix::always:
      return true;
    case MosesPrefix::before_number:
      return starts_with_digit(next);
    case MosesPrefix::none:
      return false;
  }
  return false;
}

std::u32string split_periods(std::u32string_view text, MosesLanguage language) {
  const std::vector<std::u32string_view> words = split_at_spaces(text);
  std::u32string result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::u32string_view word = words[i];
    if (word.empty()) continue;
    if (!result.empty()) result += U' ';
    const std::u32string_view stem = word.substr(0, word.size() - 1);
    const bool last = i + 1 == words.size();
    if (word.back() != '.' || stem.empty() ||
        (!last && keeps_period(stem, words[i + 1], language))) {
      result += word;
    } else {
      (result += stem) += U" .";
    }
  }
  if (result.ends_with(U".'")) result.replace(result.size() - 2, 2, U" . '");
  return result;
}

std::string escaped(std::u32string_view text) {
  std::u32string result;
  for (const char32_t c : text) {
    switch (c) {
      case '&':
        result += U"&amp;";
        break;
      case '|':
        result += U"&#124;";
        break;
      case '<':
        result += U"&lt;";
        break;
      case '>':
        result += U"&gt;";
        break;
      case '\'':
        result += U"&apos;";
        break;
      case '"':
        result += U"&quot;";
        break;
      case '[':
        result += U"&#91;";
        break;
      case ']':
        result += U"&#93;";
        break;
      default:
        if (c > kDots) {
          result.append(c - kDots, U'.');
        } else {
          result += c;
        }
    }
  }
  return to_utf8(result);
}

bool is_space_byte(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

}  // namespace

std::string moses_tokenize(std::string_view line, MosesLanguage language) {
  std::u32string text = pad(clean(line), is_special);
  text = split_commas(with_runs_of_dots(text));
  text = split_apostrophes(std::move(text), language);
  return escaped(split_periods(text, language));
}

std::string split_compounds(std::string_view tokens) {
  std::string result;
  result.reserve(tokens.size() + tokens.size() / 4);
  std::size_t i = 0;
  while (i + 3 <= tokens.size()) {
    if (!is_space_byte(tokens[i]) && tokens[i + 1] == '-' && !is_space_byte(tokens[i + 2])) {
      result += tokens[i];
      result += " ##AT##-##AT## ";
      result += tokens[i + 2];
      i += 3;
    } else {
      result += tokens[i++];
    }
  }
  return result.append(tokens, i);
}

}  // namespace roformer
