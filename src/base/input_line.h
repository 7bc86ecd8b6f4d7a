// Lines of text that a user hands in, and the lines that answer them.
#pragma once

#include <istream>
#include <string>

namespace roformer {

// The next line of a file or of standard input, without its line feed; false at the end. Throws
// Error (failure) naming the input where it cannot be read: std::getline takes that for its end.
bool next_line(std::istream& input, const std::string& name, std::string& line);

// With spaces for line breaks, which a vocabulary of bytes has, too: a line in stays a line out.
std::string as_one_line(std::string text);

}  // namespace roformer
