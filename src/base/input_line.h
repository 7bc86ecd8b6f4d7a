// Lines of text that a user hands in.
#pragma once

#include <istream>
#include <string>

namespace roformer {

// The next line of a file or of standard input, without its line feed; false at the end. Throws
// Error (failure) naming the input where it cannot be read: std::getline takes that for its end.
bool next_line(std::istream& input, const std::string& name, std::string& line);

}  // namespace roformer
