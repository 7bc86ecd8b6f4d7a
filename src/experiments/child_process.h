// A child process whose output goes to a file. It has its own process group, so that Ctrl-C at the
// terminal reaches it only once, through this process. It is asked to stop when this process dies.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/inner_path.h"

namespace roformer {

struct ChildExit {
  int code = 0;                        // exit code, if no signal ended it
  int signal = 0;                      // the signal that ended it, or 0
  std::int64_t peak_memory_bytes = 0;  // resident, the larger of the child's and its own children's

  bool good() const { return code == 0 && signal == 0; }
};

// The last line that is not blank, without trailing spaces. "" if there is none.
std::string last_line(const std::string& output);

class ChildProcess {
 public:
  struct Command {
    std::string program;                 // a path; PATH is not searched
    std::vector<std::string> arguments;  // without the program's name
    InnerPath output;                    // for standard output and standard error; replaced
  };
  // Throws Error (failure) if no process or file can be made. If the program cannot be started, the
  // child exits with code 127 and writes the reason to its output.
  explicit ChildProcess(const Command& command);
  // Asks a child that still runs to stop, and waits for it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // How the child ended; empty while it runs. Does not wait.
  std::optional<ChildExit> poll();
  // Sends a signal to the child and to all processes of its group.
  void send(int signal) const;

 private:
  pid_t process_ = -1;
  std::optional<ChildExit> exit_;

  std::optional<ChildExit> wait(int options);
};

}  // namespace roformer
