#include "base/output.h"

#include <cerrno>
#include <cstdio>
#include <iostream>

#include "base/error.h"

namespace roformer {

void finish_output() {
  std::cout.flush();
  errno = 0;
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout;
  if (!lost) return;
  throw_failure("standard output", "not all of the result could be written" +
                                       (errno != 0 ? ": " + system_message(errno) : std::string()));
}

}  // namespace roformer
