#include "experiments/child_process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/error.h"

namespace roformer {
namespace {

constexpr int kCannotStart = 127;  // as shells count it

// Between fork and exec: only what is safe in a signal handler.
[[noreturn]] void become(const char* program, char* const* arguments, int output, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(kCannotStart);  // it died before it could be watched
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  ::sigaction(SIGINT, &standard, nullptr);
  ::sigaction(SIGTERM, &standard, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::execv(program, arguments);
  constexpr char kMessage[] = "cannot be started: ";
  const char* reason = ::strerror(errno);
  for (const char* text : {program, ": ", kMessage, reason, "\n"}) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, ::strlen(text));
  }
  ::_exit(kCannotStart);
}

}  // namespace

std::string last_line(const std::string& output) {
  const std::size_t end = output.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const std::size_t before = output.rfind('\n', end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return output.substr(begin, end + 1 - begin);
}

ChildProcess::ChildProcess(const Command& command) {
  // The parent may have ignored SIGCHLD. Then nobody could tell how a child ended.
  ::signal(SIGCHLD, SIG_DFL);
  // Made before the fork. The child must not allocate memory between fork and exec.
  std::vector<std::string> words{"roformer"};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  Descriptor output = command.output.open(O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
  if (!output) {
    throw_failure(command.output.string(), "cannot write there: " + system_message(errno));
  }
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ == 0) become(command.program.c_str(), arguments.data(), output.number(), parent);
  const int fork_error = errno;
  output = Descriptor();
  if (process_ < 0) {
    throw_failure(command.program, "cannot start a process: " + system_message(fork_error));
  }
  ::setpgid(process_, process_);  // here too: whoever comes first
}

ChildProcess::~ChildProcess() {
  if (poll()) return;
  send(SIGTERM);
  wait(0);
}

std::optional<ChildExit> ChildProcess::poll() {
  return exit_ ? exit_ : wait(WNOHANG);
}

void ChildProcess::send(int signal) const {
  if (!exit_) ::kill(-process_, signal);
}

std::optional<ChildExit> ChildProcess::wait(int options) {
  int status = 0;
  pid_t ended = 0;
  struct rusage usage {};
  do {
    ended = ::wait4(process_, &status, options, &usage);
  } while (ended < 0 && errno == EINTR);
  if (ended == 0) return std::nullopt;
  ROFORMER_ASSERT(ended == process_);
  exit_ = WIFSIGNALED(status) ? ChildExit{.signal = WTERMSIG(status)}
                              : ChildExit{.code = WEXITSTATUS(status)};
  exit_->peak_memory_bytes = usage.ru_maxrss * 1024;
  return exit_;
}

}  // namespace roformer
