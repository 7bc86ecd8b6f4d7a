#include <unicode/uchar.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "metrics/code_points.h"
#include "metrics/substitute.h"
#include "metrics/tokenizers.h"

namespace roformer {
namespace {

// A run of N dots is one character while the rules run: this plus N.
constexpr char32_t kDots = 0x110000;

bool is_space_of_perl(char32_t c) {
  return u_isUWhiteSpace(static_cast<UChar32>(c));
}

bool is_letter(char32_t c) {
  return u_isUAlphabetic(static_cast<UChar32>(c));
}

bool is_number(char32_t c) {
  return (U_GET_GC_MASK(static_cast<UChar32>(c)) & U_GC_N_MASK) != 0;
}

template <auto is_one>
bool is_no(char32_t c) {
  return !is_one(c);
}

template <char32_t wanted>
bool is(char32_t c) {
  return c == wanted;
}

bool is_neither(char32_t c) {
  return !is_letter(c) && !is_number(c);
}

bool is_special(char32_t c) {
  return !is_letter(c) && !u_isdigit(static_cast<UChar32>(c)) && !is_space_of_perl(c) &&
         std::u32string_view(U".'`,-").find(c) == std::u32string_view::npos;
}

// One space for each run of white space, none at the ends, and no control characters of ASCII.
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

// For substitute() of three characters: writes `middle` in place of the second.
auto keep_around(std::u32string_view middle) {
  return [middle](std::u32string& result, const char32_t* c) {
    (result += c[0]) += middle;
    result += c[2];
  };
}

std::u32string split_commas(std::u32string text) {
  const auto after = [](std::u32string& result, const char32_t* c) { (result += c[0]) += U" , "; };
  const auto before = [](std::u32string& result, const char32_t* c) { (result += U" , ") += c[1]; };
  text = substitute(text, after, is_no<is_number>, is<','>);
  text = substitute(text, before, is<','>, is_no<is_number>);
  if (text.size() > 1 && text.ends_with(U',') && is_number(text[text.size() - 2])) {
    text.insert(text.size() - 1, U" ");
  }
  return text;
}

std::u32string split_apostrophes(std::u32string text, MosesLanguage language) {
  if (language == MosesLanguage::german) return pad(text, is<'\''>);
  const auto apart = keep_around(U" ' "), right = keep_around(U" '");
  text = substitute(text, apart, is_no<is_letter>, is<'\''>, is_no<is_letter>);
  text = substitute(text, apart, is_neither, is<'\''>, is_letter);
  text = substitute(text, apart, is_letter, is<'\''>, is_no<is_letter>);
  text = substitute(text, right, is_letter, is<'\''>, is_letter);
  return substitute(text, right, is_number, is<'\''>, is<'s'>);  // 1990's
}

// At single spaces: between two of them is an empty word, which split_periods() looks at.
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
  if (!next.empty() && u_isULowercase(static_cast<UChar32>(next[0]))) return true;
  const MosesPrefix prefix = moses_prefix(to_utf8(stem), language);
  const bool number_follows = !next.empty() && next[0] >= '0' && next[0] <= '9';
  return prefix == MosesPrefix::always || (prefix == MosesPrefix::before_number && number_follows);
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

std::string with_entities(std::u32string_view text) {
  static constexpr std::pair<char32_t, std::u32string_view> kEntities[] = {
      {'&', U"&amp;"},   {'|', U"&#124;"}, {'<', U"&lt;"},  {'>', U"&gt;"},
      {'\'', U"&apos;"}, {'"', U"&quot;"}, {'[', U"&#91;"}, {']', U"&#93;"}};
  std::u32string result;
  for (const char32_t c : text) {
    const auto* const entity = std::ranges::find(kEntities, c, [](auto& e) { return e.first; });
    if (entity != std::end(kEntities)) {
      result += entity->second;
    } else if (c > kDots) {
      result.append(c - kDots, U'.');
    } else {
      result += c;
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
  return with_entities(split_periods(text, language));
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
