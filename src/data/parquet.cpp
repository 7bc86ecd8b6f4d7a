#include "data/parquet.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "base/error.h"
#include "base/printable.h"

namespace roformer {
namespace {

constexpr int kNoPyarrow = 3;  // exit status of the program below

// Values that JSON lacks become text or null. A module in the working folder must not be taken for
// one of Python's own.
constexpr const char* kProgram = R"py(import sys
sys.path[:] = [folder for folder in sys.path if folder]
import json, math, os
try:
    import pyarrow.parquet
except ImportError:
    sys.exit(3)

def plain(value):
    if isinstance(value, dict):
        return {name: plain(entry) for name, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if isinstance(value, float) and not math.isfinite(value) else value

try:
    table = pyarrow.parquet.ParquetFile(sys.stdin.buffer)
    for batch in table.iter_batches(batch_size=1024):
        lines = [json.dumps(plain(row), ensure_ascii=False, default=str) for row in batch.to_pylist()]
        sys.stdout.buffer.write(("\n".join(lines) + "\n").encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
except BrokenPipeError:
    os._exit(0)
except Exception as problem:
    sys.exit(str(problem) or type(problem).__name__)
)py";

}  // namespace

ParquetRows::ParquetRows(int file) {
  ::signal(SIGCHLD, SIG_DFL);  // if the parent ignored it, nobody could tell how the child ended
  std::array<int, 2> ends{-1, -1};
  errors_ = ::memfd_create("roformer-parquet", MFD_CLOEXEC);
  if (errors_ < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw_failure("python3", "cannot be started: " + system_message(errno));
  }
  pipe_ = ends[0];
  ::lseek(file, 0, SEEK_SET);
  posix_spawn_file_actions_t streams;
  ::posix_spawn_file_actions_init(&streams);
  ::posix_spawn_file_actions_adddup2(&streams, file, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&streams, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&streams, errors_, STDERR_FILENO);
  std::string python = "python3", flag = "-c", program = kProgram;
  char* const words[] = {python.data(), flag.data(), program.data(), nullptr};
  start_error_ = ::posix_spawnp(&process_, python.c_str(), &streams, nullptr, words, environ);
  if (start_error_ != 0) process_ = -1;
  ::posix_spawn_file_actions_destroy(&streams);
  ::close(ends[1]);
}

ParquetRows::~ParquetRows() {
  ::close(pipe_);
  ::close(errors_);
  if (process_ <= 0) return;
  ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
}

std::string ParquetRows::problem() {
  const std::string reason = "Parquet is read by python3 with its package pyarrow, and ";
  if (start_error_ != 0) {
    hint_ = "install Python 3 and pyarrow, or save the file as JSON Lines";
    return reason + "python3 does not start: " + system_message(start_error_);
  }
  if (process_ <= 0) return "";  // told before
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoPyarrow) {
    hint_ = "python3 -m pip install pyarrow, or save the file as JSON Lines";
    return reason + "the python3 on PATH has no pyarrow";
  }
  std::array<char, 400> said{};
  const ssize_t size = ::pread(errors_, said.data(), said.size(), 0);
  std::string text(said.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  while (text.ends_with('\n')) text.pop_back();
  return "pyarrow: " + (text.empty() ? "ended without a message" : clean_line(text));
}

}  // namespace roformer
