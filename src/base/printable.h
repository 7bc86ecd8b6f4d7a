// Text that a stranger may have written (a key of YAML, a tensor's name, a member of an archive, a
// variable of the environment) on its way to a person. A terminal obeys some characters, and others
// make a line read in another order than it has. What writes for people (error lines, the log,
// tables of text, progress lines, descriptions) cleans all that it shows by these functions, so
// that nobody who composes a message has to. What programs read (JSON, CSV, tokens) stays exact.
#pragma once

#include <string>
#include <string_view>

namespace roformer {

// With a ? for every control character but line ends and tabs, C1's among them, for every character
// that turns the direction of a text, and for every byte that is no UTF-8.
std::string clean_text(std::string_view text);
// The same in one line: a ? for line ends and tabs, too.
std::string clean_line(std::string_view text);

// For a text in the double quotes of YAML: what clean_line would replace as \n, \t, \u009b; only
// bytes that are no UTF-8, which have no such name, stay as they are.
std::string escaped_controls(std::string_view text);

// A clean line in double quotes, of at most 80 characters of the text.
std::string printable(std::string_view text);

}  // namespace roformer
