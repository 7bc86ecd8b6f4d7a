// Bytes do as characters here: every class names ASCII, and what stands beside it may be anything.
#include "metrics/bleu_tokenizers.h"
#include "metrics/substitute.h"

namespace roformer {
namespace {

bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_no_digit(char c) {
  return !is_digit(c);
}

bool is_point(char c) {
  return c == '.' || c == ',';
}

bool is_dash(char c) {
  return c == '-';
}

void replace_all(std::string& line, std::string_view from, std::string_view to) {
  std::size_t position = 0;
  while ((position = line.find(from, position)) != std::string::npos) {
    line.replace(position, from.size(), to);
    position += to.size();
  }
}

}  // namespace

std::string split_ascii_punctuation(std::string line) {
  const auto pad_second = [](std::string& text, const char* c) {
    text += c[0];
    (text += ' ') += c[1];
    text += ' ';
  };
  const auto pad_first = [](std::string& text, const char* c) {
    (text += ' ') += c[0];
    (text += ' ') += c[1];
  };
  line = pad(line, is_symbol);
  line = substitute(line, pad_second, is_no_digit, is_point);
  line = substitute(line, pad_first, is_point, is_no_digit);
  return substitute(line, pad_second, is_digit, is_dash);
}

std::string tokenize_13a(std::string_view line) {
  std::string text(line);
  replace_all(text, "<skipped>", "");
  replace_all(text, "-\n", "");
  replace_all(text, "\n", " ");
  if (text.find('&') != std::string::npos) {
    replace_all(text, "&quot;", "\"");
    replace_all(text, "&amp;", "&");
    replace_all(text, "&lt;", "<");
    replace_all(text, "&gt;", ">");
  }
  return split_ascii_punctuation(" " + text + " ");
}

}  // namespace roformer
