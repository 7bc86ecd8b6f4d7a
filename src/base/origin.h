// What made a file: the command as it was typed, and which program that was.
#pragma once

#include <string>

namespace roformer {

struct Origin {
  std::string command;
  std::string version;
  std::string commit;

  // "`roformer evaluate RUN` · roformer 0.1.0 (1d1352d1f5b0)", of a page.
  std::string footer() const;
};

// Of this process.
Origin this_program();

}  // namespace roformer
