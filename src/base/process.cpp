#include "base/process.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <initializer_list>

namespace roformer {

void prepare_process() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool closed = ::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
    if (!closed) continue;
    // The lowest that is free is this one. Results that go nowhere are an error, as on a full disk;
    // messages are not.
    const int mode = descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    [[maybe_unused]] const int opened = ::open("/dev/null", mode);
  }
  ::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace roformer
