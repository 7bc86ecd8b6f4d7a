// The origin of a file: the command line and the version of the program that wrote it.
#pragma once

#include <string>

namespace roformer {

struct Origin {
  std::string command;
  std::string version;
  std::string commit;

  // "`roformer evaluate RUN` · roformer 0.1.0 (1d1352d1f5b0)", for the foot of a page.
  std::string footer() const;
};

Origin this_program();

// The command line of this process in a form that can be typed again: "roformer data prepare 'my
// text' --output out". "roformer" if the system does not tell.
std::string command_line();

// The word in the form that a shell reads, with quotes if it needs them.
std::string shell_word(const std::string& word);

}  // namespace roformer
