// The command line of this process as text that could be typed again, for the files that say how
// they were made.
#pragma once

#include <string>

namespace roformer {

// "roformer data prepare 'my text' --output out"; "roformer" where the system does not tell.
std::string command_line();

// The word as a shell would read it: in quotes where it needs them.
std::string shell_word(const std::string& word);

}  // namespace roformer
