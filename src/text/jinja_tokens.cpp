#include "text/jinja.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/printable.h"
#include "text/utf8.h"

namespace roformer {
namespace {

bool is_jinja_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_jinja_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_jinja_digit(c);
}

// The text with only one kind of line ends, and without the line end at its end.
std::string with_plain_lines(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const bool carriage = source[i] == '\r';
    if (carriage && i + 1 < source.size() && source[i + 1] == '\n') continue;
    text += carriage ? '\n' : source[i];
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

class JinjaLexer {
  using Kind = JinjaToken::Kind;

 public:
  JinjaLexer(std::string_view source, const std::string& location)
      : location_(location), source_(with_plain_lines(source)) {}

  std::vector<JinjaToken> read() {
    while (at_ < source_.size()) {
      const std::size_t tag = next_tag();
      const bool ends = tag == std::string::npos;
      std::string text = source_.substr(at_, ends ? tag : tag - at_);
      const int line = line_;
      move_to(ends ? source_.size() : tag);
      if (!ends) cut_before_tag(text);
      if (!text.empty())
        tokens_.push_back({.kind = Kind::text, .text = std::move(text), .line = line});
      if (!ends) read_tag();
    }
    add(Kind::end);
    return std::move(tokens_);
  }

 private:
  const std::string& location_;
  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_starts_ = true;  // nothing but the end of a line is before at_
  std::vector<JinjaToken> tokens_;

  [[noreturn]] void refuse(const std::string& message) const {
    throw_failure(fmt::format("{}:{}", location_, line_), message);
  }
  void add(Kind kind, std::string text = "") {
    tokens_.push_back({.kind = kind, .text = std::move(text), .line = line_});
  }
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  void move_to(std::size_t position) {
    line_ +=
        static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                    source_.begin() + static_cast<std::ptrdiff_t>(position), '\n'));
    at_ = position;
  }

  std::size_t next_tag() const {
    for (std::size_t i = source_.find('{', at_); i != std::string::npos;
         i = source_.find('{', i + 1)) {
      const char next = i + 1 < source_.size() ? source_[i + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') return i;
    }
    return std::string::npos;
  }

  // Before a tag: a minus removes all white space. A statement or a comment removes the white space
  // before it if the line holds nothing else.
  void cut_before_tag(std::string& text) const {
    if (peek(2) == '-') {
      while (!text.empty() && is_jinja_space(text.back())) text.pop_back();
      return;
    }
    if (peek(1) == '{' || peek(2) == '+') return;
    const std::size_t line_end = text.rfind('\n');
    if (line_end == std::string::npos && !line_starts_) return;
    const std::size_t begin = line_end == std::string::npos ? 0 : line_end + 1;
    if (std::ranges::all_of(text.substr(begin), is_jinja_space)) text.resize(begin);
  }

  // After a tag: a minus removes all white space, a statement or a comment the end of its line.
  void cut_after_tag(bool minus, bool plus, bool output) {
    std::size_t position = at_;
    if (minus) {
      while (position < source_.size() && is_jinja_space(source_[position])) ++position;
    } else if (!output && !plus && peek() == '\n') {
      ++position;
    }
    line_starts_ = position > at_ && source_[position - 1] == '\n';
    move_to(position);
  }

  void read_tag() {
    const char type = peek(1);
    move_to(at_ + 2);
    if (type == '#') return read_comment();
    if (peek() == '-' || (type == '%' && peek() == '+')) move_to(at_ + 1);
    const bool output = type == '{';
    add(output ? Kind::begin_output : Kind::begin_statement);
    const std::string_view end = output ? "}}" : "%}";
    for (int depth = 0;;) {
      while (is_jinja_space(peek())) move_to(at_ + 1);
      if (at_ >= source_.size()) refuse(fmt::format("a tag has no end \"{}\"", end));
      const bool sign = peek() == '-' || peek() == '+';
      const std::string_view rest = std::string_view(source_).substr(at_ + (sign ? 1 : 0));
      if (depth == 0 && rest.starts_with(end)) {
        const bool minus = peek() == '-', plus = peek() == '+';
        move_to(at_ + (sign ? 3 : 2));
        add(output ? Kind::end_output : Kind::end_statement);
        cut_after_tag(minus, plus, output);
        return;
      }
      read_token(depth);
    }
  }

  void read_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) refuse("a comment has no end \"#}\"");
    const char before = end > at_ ? source_[end - 1] : '\0';
    move_to(end + 2);
    cut_after_tag(before == '-', before == '+', false);
  }

  void read_token(int& depth) {
    const char c = peek();
    const std::size_t begin = at_;
    if (c == '\'' || c == '"') return read_string();
    if (is_name_character(c)) {
      const bool number = is_jinja_digit(c);
      std::size_t end = at_;
      while (end < source_.size() && is_name_character(source_[end])) ++end;
      if (number && end + 1 < source_.size() && source_[end] == '.' &&
          is_jinja_digit(source_[end + 1])) {
        refuse("has a number with a point");
      }
      move_to(end);
      return add(number ? Kind::number : Kind::name, source_.substr(begin, end - begin));
    }
    constexpr std::array<std::string_view, 6> kPairs = {"==", "!=", "<=", ">=", "//", "**"};
    const std::string_view rest = std::string_view(source_).substr(at_);
    for (const std::string_view pair : kPairs) {
      if (!rest.starts_with(pair)) continue;
      move_to(at_ + 2);
      return add(Kind::symbol, std::string(pair));
    }
    if (std::string_view("+-*/%~<>=()[]{},.:|").find(c) == std::string_view::npos) {
      refuse(fmt::format("has {} in an expression", printable(std::string(1, c))));
    }
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    depth = std::max(depth, 0);
    move_to(at_ + 1);
    add(Kind::symbol, std::string(1, c));
  }

  // With the escapes of Python's strings.
  void read_string() {
    const char quote = peek();
    std::string text;
    std::size_t i = at_ + 1;
    while (i < source_.size() && source_[i] != quote) {
      if (source_[i] != '\\' || i + 1 >= source_.size()) {
        text += source_[i++];
        continue;
      }
      const char escaped = source_[i + 1];
      constexpr std::string_view kFrom = "ntr\\'\"", kTo = "\n\t\r\\'\"";
      if (const std::size_t known = kFrom.find(escaped); known != std::string_view::npos) {
        text += kTo[known];
        i += 2;
      } else if (escaped == 'u' || escaped == 'x') {
        append_code_point(i, escaped == 'u' ? 4 : 2, text);
      } else {
        text += source_[i++];
      }
    }
    if (i >= source_.size()) refuse("a text in quotes has no end");
    add(Kind::string, std::move(text));
    move_to(i + 1);
  }

  void append_code_point(std::size_t& position, std::size_t digits, std::string& text) const {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const std::size_t at = position + 2 + i;
      const char c = at < source_.size() ? source_[at] : '\0';
      const int digit = is_jinja_digit(c)      ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) refuse("a text in quotes has an escape without its digits");
      value = value * 16 + static_cast<char32_t>(digit);
    }
    if (value >= 0xD800 && value < 0xE000) refuse("a text in quotes has half a character");
    append_utf8(text, value);
    position += 2 + digits;
  }
};

}  // namespace

std::vector<JinjaToken> jinja_tokens(std::string_view source, const std::string& location) {
  return JinjaLexer(source, location).read();
}

}  // namespace roformer
