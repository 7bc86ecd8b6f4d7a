// One child process of a study: its output goes to a file, and it is in a process group of its own,
// so that Ctrl-C at the terminal reaches it once, through us, and not twice. It is told to stop
// when this process dies.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/inner_path.h"

namespace roformer {

struct ChildExit {
  int code = 0;    // exit code, where it left by itself
  int signal = 0;  // the one that ended it, or 0
  // Resident, at most, of it or of one of its own children.
  std::int64_t peak_memory_bytes = 0;

  bool good() const { return code == 0 && signal == 0; }
};

// Of what it wrote: the last line that is not blank, without the spaces behind it; "" without one.
std::string last_line(const std::string& output);

class ChildProcess {
 public:
  struct Command {
    std::string program;                 // path; nothing is looked up
    std::vector<std::string> arguments;  // the program's name not among them
    InnerPath output;                    // takes standard output and standard error; begun anew
  };
  // Throws Error (failure) when no process or file can be made. A program that cannot be started
  // is a child that leaves with code 127 and says so in its output.
  explicit ChildProcess(const Command& command);
  // A child that still runs is asked to stop and waited for.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // How it ended; nothing while it runs. Does not wait.
  std::optional<ChildExit> poll();
  // To it and to all that it has started in its group.
  void send(int signal) const;

 private:
  pid_t process_ = -1;
  std::optional<ChildExit> exit_;

  std::optional<ChildExit> wait(int options);
};

}  // namespace roformer
