#include "base/process.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <system_error>

#include "base/error.h"

namespace roformer {
namespace fs = std::filesystem;
namespace {

// The path by which the program was started, resolved before the working directory can change.
const fs::path& started_as() {
  static const fs::path path = [] {
    const auto* const name = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
    std::error_code error;
    return name == nullptr ? fs::path() : fs::canonical(name, error);
  }();
  return path;
}

[[maybe_unused]] const fs::path& at_the_beginning = started_as();

constexpr const char* kMark = "ROFORMER_TUNED";  // names the variables that tune_environment() set

struct Choice {
  const char* name;
  const char* value;
};
constexpr std::array<Choice, 4> kChoices{{
    // How often a thread of GCC's OpenMP polls for the others before it sleeps. By default it polls
    // for some milliseconds. With one busy neighbour on two cores, a small step (`bench mlm`, bf16,
    // 4,096 tokens) then takes 530 to 910 ms; with this value it takes 410 to 420 ms. Without a
    // neighbour both take 220 ms.
    {"GOMP_SPINCOUNT", "5000"},
    // How many compiled matrix products oneDNN and, above it, ideep keep. Each is for one shape in
    // bf16 and holds about a megabyte. The number of targets (for a translator, of tokens) differs
    // at every step, so hardly any of the 1,024 products that both keep by default is used again:
    // after 1,450 steps a translator of 5 million parameters held 5 GB.
    {"ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64"},
    {"LRU_CACHE_CAPACITY", "64"},
    // Keeps the memory that a step frees for the next step, in huge pages, instead of returning it
    // to the system and faulting in every page again. A step of linear attention (`bench mlm` of
    // causal_lm/enwik8-small.yaml with FAVOR+, one thread of a Zen 4) had 36,000 page faults and
    // took 335 ms. Without them it takes 300 ms, and its peak memory grows from 454 to 474 MiB.
    {"GLIBC_TUNABLES",
     "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=68719476736:"
     "glibc.malloc.hugetlb=1"},
}};

bool user_chose(const std::string& name) {
  const auto is_set = [](const char* variable) { return std::getenv(variable) != nullptr; };
  if (is_set(name.c_str())) return true;
  if (name == "GOMP_SPINCOUNT") return is_set("OMP_WAIT_POLICY");
  return name == "GLIBC_TUNABLES" &&
         (is_set("MALLOC_MMAP_THRESHOLD_") || is_set("MALLOC_TRIM_THRESHOLD_"));
}

// Uses only functions that are safe in a handler. Kills the process by the same signal, so that the
// shell sees what happened.
void on_interrupt(int signal) {
  constexpr std::string_view kWords = "\nstopped by Ctrl-C before the end\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWords.data(), kWords.size());
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

}  // namespace

void prepare_process() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const bool closed = ::fcntl(descriptor, F_GETFD) < 0 && errno == EBADF;
    if (!closed) continue;
    // open() takes the lowest free number, which is `descriptor`. Standard output is read-only, so
    // that losing results is an error, as on a full disk; losing messages is not.
    const int mode = descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    [[maybe_unused]] const int opened = ::open("/dev/null", mode);
  }
  ::signal(SIGXFSZ, SIG_IGN);
  // A job in the background of a shell without job control ignores Ctrl-C.
  if (::signal(SIGINT, on_interrupt) == SIG_IGN) ::signal(SIGINT, SIG_IGN);
}

void finish_output() {
  errno = 0;
  std::cout.flush();  // also writes stdout's buffer
  const int reason = errno;
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout;
  if (!lost) return;
  throw_failure("standard output",
                "not all of the result could be written" +
                    (reason != 0 ? ": " + system_message(reason) : std::string()));
}

fs::path program_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (!error) return path;
  if (started_as().empty()) throw_failure("this program", "does not know where its file is");
  return started_as();
}

std::string startable_program() {
  // In a shell, /proc/self would be another program.
  const std::string name = "/proc/" + std::to_string(::getpid()) + "/exe";
  return ::access(name.c_str(), X_OK) == 0 ? name : program_path().string();
}

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "unknown";
}

void tune_environment() {
  std::string changed;
  for (const Choice& choice : kChoices) {
    if (user_chose(choice.name)) continue;
    ::setenv(choice.name, choice.value, /*overwrite=*/0);
    changed += std::string(choice.name) + " ";
  }
  if (!changed.empty()) ::setenv(kMark, changed.c_str(), /*overwrite=*/1);
}

std::string untuned(const std::string& command) {
  const char* const changed = std::getenv(kMark);
  if (changed == nullptr) return command;
  return std::string("unset ") + changed + kMark + "; " + command;
}

}  // namespace roformer
