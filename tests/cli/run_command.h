// Runs a command line as a user does, and catches what it writes.
#pragma once

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command.h"

namespace roformer {

struct Outcome {
  int code = 0;
  std::string output;
  std::string errors;
};

// The words after the program's name, with `input` on standard input.
inline Outcome run_command(CLI::App& program, std::vector<std::string> words,
                           const std::string& input = "") {
  words.insert(words.begin(), "roformer");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  std::istringstream lines(input);
  std::ostringstream output;
  std::ostringstream errors;
  std::streambuf* const keyboard = std::cin.rdbuf(lines.rdbuf());
  std::streambuf* const terminal = std::cout.rdbuf(output.rdbuf());
  std::streambuf* const terminal_errors = std::cerr.rdbuf(errors.rdbuf());
  const int code = run_program(program, static_cast<int>(arguments.size()), arguments.data());
  std::cin.rdbuf(keyboard);
  std::cout.rdbuf(terminal);
  std::cerr.rdbuf(terminal_errors);
  std::cin.clear();
  return {code, output.str(), errors.str()};
}

}  // namespace roformer
