// Text that a stranger may have written (a key of YAML, a tensor's name, a member of an archive, a
// variable of the environment) on its way to a person. A terminal obeys some characters, and others
// change the order in which a line is shown. Code that writes for people (error lines, the log,
// tables of text, progress lines, descriptions) cleans all its output by these functions, so that
// nobody who composes a message has to. Output for programs (JSON, CSV, tokens) stays exact.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roformer {

// The first character of a text that is not empty. A byte that is no UTF-8 is not valid.
struct NextCharacter {
  std::size_t bytes = 1;
  char32_t code = 0;
  bool valid = false;
};
NextCharacter next_character(std::string_view text);

// With a ? for every control character but line ends and tabs, C1's among them, for every character
// that turns the direction of a text, and for every byte that is no UTF-8.
std::string clean_text(std::string_view text);
// The same in one line: a ? for line ends and tabs, too.
std::string clean_line(std::string_view text);

// For a text in the double quotes of YAML: the characters that clean_line would replace become \n,
// \t, \u009b. Bytes that are no UTF-8, which have no such name, stay as they are.
std::string escaped_controls(std::string_view text);

// The text with spaces for its line breaks, so that a line of input stays a line of output.
std::string as_one_line(std::string text);

// A clean line in double quotes, of at most 80 characters of the text.
std::string printable(std::string_view text);

}  // namespace roformer
