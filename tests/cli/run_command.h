// Runs a command line as a user does, and catches what it writes.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "cli/command.h"
#include "given_input.h"

namespace roformer {

struct Outcome {
  int code = 0;
  std::string output;
  std::string errors;
};

// Before any test: what is logged goes to standard error, as in the program.
inline const bool kLogIsReady = [] {
  log::initialize();
  return true;
}();

// Catches what is written to standard output, by streams or by stdio.
class CaughtOutput {
 public:
  CaughtOutput() : file_(std::tmpfile()), terminal_(::dup(STDOUT_FILENO)) {
    flush();
    ::dup2(::fileno(file_), STDOUT_FILENO);
  }
  ~CaughtOutput() {
    ::close(terminal_);
    std::fclose(file_);
  }
  std::string end() {
    flush();
    ::dup2(terminal_, STDOUT_FILENO);
    std::rewind(file_);
    std::string text;
    char part[4096];
    while (const std::size_t read = std::fread(part, 1, sizeof part, file_))
      text.append(part, read);
    return text;
  }

 private:
  std::FILE* file_;
  int terminal_;

  static void flush() {
    std::cout.flush();
    std::fflush(stdout);
  }
};

// The words after the program's name, with `input` on standard input.
inline Outcome run_command(CLI::App& program, std::vector<std::string> words,
                           const std::string& input = "") {
  words.insert(words.begin(), "roformer");
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const GivenInput given(input);
  std::ostringstream errors;
  CaughtOutput output;
  std::streambuf* const terminal_errors = std::cerr.rdbuf(errors.rdbuf());
  const int code = run_program(program, static_cast<int>(arguments.size()), arguments.data());
  std::cerr.rdbuf(terminal_errors);
  return {code, output.end(), errors.str()};
}

// The same with the whole program: a subcommand and its arguments.
inline Outcome run(std::vector<std::string> words, const std::string& input = "") {
  return run_command(*make_whole_program(), std::move(words), input);
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace roformer
