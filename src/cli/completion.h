// The scripts with which bash, zsh and fish complete the command line. A script contains
// everything: commands, their flags, the keys of the configuration and the words of each. It looks
// only for files and runs when a key is pressed, and never starts the program.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace roformer {

enum class Shell { bash, zsh, fish };

// `program` is the whole program; it gets the flags for keys that parsing would add.
std::string completion_script(CLI::App& program, Shell shell);

}  // namespace roformer
