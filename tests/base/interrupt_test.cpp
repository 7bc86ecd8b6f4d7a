// Ctrl-C in a command that does not handle it.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/process.h"
#include "catch.h"

using namespace roformer;

namespace {

struct Interrupted {
  int status = 0;  // of waitpid
  std::string errors;
};

// A process that begins with this handling of Ctrl-C and then gets one.
Interrupted interrupt_process(void (*handler)(int)) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::signal(SIGINT, handler);
    prepare_process();
    ::raise(SIGINT);
    ::_exit(0);
  }
  ::close(ends[1]);
  Interrupted result;
  char buffer[256];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    result.errors.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  ::waitpid(child, &result.status, 0);
  return result;
}

}  // namespace

TEST_CASE("Ctrl-C says a line and kills the process as it does any other") {
  const Interrupted killed = interrupt_process(SIG_DFL);
  CHECK(killed.errors == "\nstopped by Ctrl-C before the end\n");
  CHECK(WIFSIGNALED(killed.status));
  CHECK(WTERMSIG(killed.status) == SIGINT);
}

TEST_CASE("a process that ignores Ctrl-C goes on ignoring it") {
  const Interrupted ignored = interrupt_process(SIG_IGN);
  CHECK(ignored.errors.empty());
  CHECK(WIFEXITED(ignored.status));
}
