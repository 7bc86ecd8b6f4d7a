#include <ATen/Parallel.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "base/file.h"
#include "base/log.h"
#include "catch.h"
#include "cli/command.h"
#include "config/dump.h"
#include "in_terminal.h"
#include "runs/tiny_run.h"
#include "training/checkpoint.h"

namespace roformer {

TEST_CASE("a training whose terminal is closed saves, and says by its exit code what stopped it") {
  if (!terminals_exist()) {
    WARN("no terminals here");
    return;
  }
  const TinyRun run("rope", {{"training.steps", "1000000"},
                             {"training.validate_every", "0"},
                             {"training.save_every", "0"}});
  const std::string config = (run.folder.path / "run.yaml").string();
  write_file_atomically(config, dump(run.settings, DumpStyle::compact));
  int terminal = -1;
  std::fflush(nullptr);
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    at::set_num_threads(1);
    log::initialize();
    std::string program = "roformer", command = "train", file = config;
    char* arguments[] = {program.data(), command.data(), file.data(), nullptr};
    ::_exit(run_program(*make_whole_program(), 3, arguments));
  }
  std::string shown;
  char block[4096];
  while (shown.find("step ") == std::string::npos) {
    const ssize_t bytes = ::read(terminal, block, sizeof block);
    if (bytes <= 0) break;
    shown.append(block, static_cast<std::size_t>(bytes));
  }
  CAPTURE(shown);
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 128 + SIGHUP);
  CHECK(list_checkpoints(run.run() / "checkpoints").size() == 1);
}

}  // namespace roformer
