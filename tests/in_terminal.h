// Runs an action in a child process whose standard streams are a terminal of so many columns, and
// catches what it shows. The terminal can rewrite lines, whatever the terminal of the tests is.
#pragma once

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

namespace roformer {

// False in a bare folder of a system that has no file system of terminals; a test that needs one
// says so and ends.
inline bool terminals_exist() {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) return false;
  const bool usable = ::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0;
  ::close(terminal);
  return usable;
}

inline std::string in_terminal(unsigned short columns, const std::function<void()>& action) {
  winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
  int terminal = -1;
  std::fflush(nullptr);  // what waits here would be written by the child, too
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    ::setenv("TERM", "xterm", 1);
    try {
      action();
    } catch (...) {
      ::_exit(1);
    }
    ::_exit(0);
  }
  std::string shown;
  char block[4096];
  for (ssize_t bytes; (bytes = ::read(terminal, block, sizeof block)) > 0;) {
    shown.append(block, static_cast<std::size_t>(bytes));
  }
  ::close(terminal);
  ::waitpid(child, nullptr, 0);
  return shown;
}

}  // namespace roformer
