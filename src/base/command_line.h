// The command line of this process as text that could be typed again, for the files that say how
// they were made.
#pragma once

#include <string>

namespace roformer {

// "roformer data prepare 'my text' --output out"; "roformer" where the system does not tell.
std::string command_line();

}  // namespace roformer
