#include "training/signals.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <ctime>

namespace roformer {
namespace {

// Any thread may receive a signal; the training thread reads this.
std::atomic<int> received_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a handler must not wait for a lock");

// The first request: its time in ns, shifted left by one, plus 1 for a SIGTERM; 0: none yet. SIGHUP
// does not count, since a login session that ends sends it before SIGTERM.
std::atomic<std::int64_t> first_request = 0;
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::string_view answer;  // of the outermost StopSignals; set before its handlers are installed

void say(std::string_view text) {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

// A SIGTERM this soon after the first counts as its repetition: `timeout` signals a process and
// then its group, and the kernel signals the children as the threads of a parent die one by one.
constexpr std::int64_t kSameRequest = 1'000'000'000;  // ns

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Uses only functions that are safe in a handler: clock_gettime, write and _exit.
void on_signal(int signal) {
  const bool terminates = signal == SIGTERM, asks = signal == SIGINT || terminates;
  if (received_signal != 0 && !asks) return;
  const std::int64_t time = now();
  std::int64_t first = 0;
  if (asks && !first_request.compare_exchange_strong(first, time << 1 | (terminates ? 1 : 0))) {
    if (terminates && (first & 1) == 1 && time - (first >> 1) < kSameRequest) return;
    say("\nleaving now, without saving\n");
    ::_exit(kSignalExit + signal);
  }
  int none = 0;
  if (!received_signal.compare_exchange_strong(none, signal)) return;  // it is said already
  say("\n");
  say(answer);
  say("; again to leave now\n");
}

}  // namespace

int StopSignals::depth_ = 0;

StopSignals::StopSignals(std::string_view what) {
  if (depth_++ > 0) return;
  answer = what;
  received_signal = 0;
  first_request = 0;
  struct sigaction action {};
  action.sa_handler = on_signal;
  // Interrupted system calls continue, so that no read or write fails because of a signal.
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &action, &before_[i]);
    // nohup ignores it on purpose.
    const bool ignored = kSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN;
    if (ignored) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
}

StopSignals::~StopSignals() {
  if (--depth_ > 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
}

int StopSignals::received() {
  return received_signal;
}

void stop_validation_if_asked(const Processes& processes) {
  if (processes.alone() && StopSignals::received() != 0) throw ValidationStopped();
}

}  // namespace roformer
