#include "config/formula/lexer.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "config/formula/expression.h"

namespace roformer {
namespace {

constexpr std::array<std::string_view, 19> kSigns{"<=", ">=", "==", "!=", "**", "<", ">",
                                                  "+",  "-",  "*",  "/",  "%",  "^", "(",
                                                  ")",  "[",  "]",  ",",  "="};

bool begins_name(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

FormulaToken number_at(std::string_view text, std::size_t at) {
  FormulaToken token{.kind = FormulaToken::Kind::number, .column = at};
  const char* const begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), token.number);
  if (error != std::errc() || !std::isfinite(token.number)) {
    throw FormulaError(at, "a number that cannot be read");
  }
  token.text = std::string(begin, end);
  return token;
}

FormulaToken name_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (begins_name(text[end]) || is_digit(text[end]))) ++end;
  return {.kind = FormulaToken::Kind::name,
          .text = std::string(text.substr(at, end - at)),
          .column = at};
}

FormulaToken sign_at(std::string_view text, std::size_t at) {
  for (const std::string_view sign : kSigns) {
    if (!text.substr(at).starts_with(sign)) continue;
    if (sign == "=") throw FormulaError(at, "an assignment", "== compares");
    return {.kind = FormulaToken::Kind::sign,
            .text = sign == "**" ? "^" : std::string(sign),
            .column = at};
  }
  throw FormulaError(at, "a sign that no formula has",
                     "numbers, names, + - * / % ^ ( ) [ ] , and comparisons");
}

// How long the token is in the text (`**` is one sign of two characters).
std::size_t length_in(std::string_view text, const FormulaToken& token) {
  return text.substr(token.column).starts_with("**") ? 2 : token.text.size();
}

}  // namespace

std::vector<FormulaToken> formula_tokens(std::string_view text) {
  std::vector<FormulaToken> tokens;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at;
      continue;
    }
    const bool numeric =
        is_digit(c) || (c == '.' && at + 1 < text.size() && is_digit(text[at + 1]));
    tokens.push_back(numeric          ? number_at(text, at)
                     : begins_name(c) ? name_at(text, at)
                                      : sign_at(text, at));
    at += length_in(text, tokens.back());
  }
  tokens.push_back({.kind = FormulaToken::Kind::end, .column = text.size()});
  return tokens;
}

}  // namespace roformer
