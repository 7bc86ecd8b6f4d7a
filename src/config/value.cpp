#include "config/value.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <utility>

#include "base/printable.h"
#include "config/suggest.h"

namespace roformer {
namespace {

// Some YAML readers take 010 for eight.
bool has_leading_zero(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

std::string hint_of_number(std::string_view text) {
  return has_leading_zero(text) ? "without the leading zero, which makes it octal elsewhere" : "";
}

// std::errc() for a number that is the whole text.
template <class Number>
std::errc read_whole(std::string_view text, Number& value) {
  if (has_leading_zero(text)) return std::errc::invalid_argument;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ptr == end ? parsed.ec : std::errc::invalid_argument;
}

}  // namespace

std::int64_t parse_integer(std::string_view text, const Range& range) {
  std::int64_t value = 0;
  std::int64_t factor = 1;
  for (const auto& [letter, size] :
       {std::pair{'k', 1'000}, std::pair{'M', 1'000'000}, std::pair{'G', 1'000'000'000}}) {
    if (text.ends_with(letter)) factor = size;
  }
  const std::string_view digits = factor == 1 ? text : text.substr(0, text.size() - 1);
  const bool good =
      read_whole(digits, value) == std::errc() && !__builtin_mul_overflow(value, factor, &value);
  if (!good || !range.contains(static_cast<double>(value))) {
    throw InvalidValue(range.words_of("an integer"), hint_of_number(text));
  }
  return value;
}

std::uint64_t parse_seed(std::string_view text) {
  std::uint64_t value = 0;
  if (read_whole(text, value) != std::errc()) {
    throw InvalidValue("an integer from 0 to 2^64-1", hint_of_number(text));
  }
  return value;
}

double parse_number(std::string_view text, const Range& range) {
  double value = 0;
  const std::errc read = read_whole(text, value);
  if (read == std::errc::result_out_of_range) {
    throw InvalidValue(range.words_of("a number"), "64 bits hold no such number");
  }
  if (read != std::errc() || !std::isfinite(value) || !range.contains(value)) {
    throw InvalidValue(range.words_of("a number"), hint_of_number(text));
  }
  return value;
}

bool parse_boolean(std::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  const bool yes = text == "yes" || text == "on" || text == "True" || text == "1";
  const bool no = text == "no" || text == "off" || text == "False" || text == "0";
  throw InvalidValue("true or false", yes ? "did you mean true" : no ? "did you mean false" : "");
}

std::size_t parse_word(std::string_view text, const std::vector<std::string>& words) {
  for (std::size_t index = 0; index < words.size(); ++index) {
    if (words[index] == text) return index;
  }
  throw InvalidValue(one_of(words),
                     text.starts_with('{')
                         ? "a map is for files; on the command line its keys are flags: "
                           "--position rope --position.base 1000"
                         : suggestion(text, words));
}

std::string print_number(double value) {
  return fmt::format("{}", value);
}

std::string yaml_quoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return '"' + escaped_controls(quoted) + '"';
}

std::string quoted_path(const std::filesystem::path& path) {
  std::string text = std::filesystem::absolute(path).lexically_normal().string();
  if (clean_line(text) != text) return yaml_quoted(text);
  // Only the quote itself must be escaped.
  for (std::size_t i = 0; (i = text.find('\'', i)) != std::string::npos; i += 2) {
    text.insert(i, 1, '\'');
  }
  return "'" + text + "'";
}

std::string one_of(const std::vector<std::string>& words) {
  std::string text = "one of ";
  for (std::size_t index = 0; index < words.size(); ++index) {
    text += (index ? ", " : "") + words[index];
  }
  return text;
}

}  // namespace roformer
