#include "base/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace roformer {

void prepare_process() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool closed = ::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
    if (!closed) continue;
    // The lowest that is free is this one.
    [[maybe_unused]] const int opened = ::open("/dev/null", O_RDWR);
  }
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace roformer
