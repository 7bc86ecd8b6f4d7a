#include "base/output.h"

#include <cerrno>
#include <cstdio>
#include <iostream>

#include "base/error.h"

namespace roformer {

void finish_output() {
  errno = 0;
  std::cout.flush();  // and stdout with it
  const int reason = errno;
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout;
  if (!lost) return;
  throw_failure("standard output",
                "not all of the result could be written" +
                    (reason != 0 ? ": " + system_message(reason) : std::string()));
}

}  // namespace roformer
