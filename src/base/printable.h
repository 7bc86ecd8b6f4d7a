// Cleans text that a stranger may have written (a YAML key, a tensor's name, a member of an
// archive, an environment variable) before a person sees it. A terminal obeys some characters, and
// others change the order in which a line is shown. All code that writes for people (error lines,
// the log, text tables, progress lines, descriptions) passes its output through these functions, so
// that code that composes a message need not. Output for programs (JSON, CSV, tokens) stays exact.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace roformer {

// The first character of a text that is not empty. A byte that is not UTF-8 is not valid.
struct NextCharacter {
  std::size_t bytes = 1;
  char32_t code = 0;
  bool valid = false;
};
NextCharacter next_character(std::string_view text);

// Replaces by ? every control character except line ends and tabs (including C1 controls), every
// character that changes the direction of a text, and every byte that is not UTF-8.
std::string clean_text(std::string_view text);
// Does the same for one line: also replaces line ends and tabs.
std::string clean_line(std::string_view text);

// For a text in YAML's double quotes: characters that clean_line would replace become \n, \t,
// \u009b. Bytes that are not UTF-8 have no such form and stay unchanged.
std::string escaped_controls(std::string_view text);

// Replaces line breaks by spaces, so that one line of input stays one line of output.
std::string as_one_line(std::string text);

// A clean line in double quotes, with at most 80 characters of the text.
std::string printable(std::string_view text);

}  // namespace roformer
