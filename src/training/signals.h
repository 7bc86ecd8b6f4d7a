// Signals that ask a training to save and leave after the current step, or between two
// micro-batches of a long one. A second SIGINT or SIGTERM leaves at once, unless it is a SIGTERM
// within a second of the first. SIGHUP (terminal closed, connection lost) and SIGPIPE (nobody reads
// the output) may come several times and never leave at once.
#pragma once

#include <array>
#include <csignal>
#include <string_view>

#include "training/distributed/processes.h"

namespace roformer {

// If a signal ended a program, its exit code is this plus the signal's number, as in shells.
inline constexpr int kSignalExit = 128;

// Handles these signals while it lives, then restores the previous handlers. Inside another
// StopSignals it changes nothing.
class StopSignals {
 public:
  // `what`, a literal, is printed at the first signal.
  explicit StopSignals(std::string_view what = "saving and leaving after this step or micro-batch");
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that asked to stop, or 0. A run stopped by it leaves with kSignalExit + signal.
  static int received();

 private:
  static int depth_;
  static constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  std::array<struct sigaction, kSignals.size()> before_{};
};

// Thrown from a validation that a signal stops. The resumed training repeats it.
struct ValidationStopped {};

// Called in a validation's loop: throws ValidationStopped once a signal has asked to stop. With
// several processes it does not, so that they end the validation together.
void stop_validation_if_asked(const Processes& processes);

}  // namespace roformer
