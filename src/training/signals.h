// What asks a training to save and leave after the step that runs, or before it where that has many
// micro-batches: SIGINT and SIGTERM (a second one
// leaves at once, but for a SIGTERM within a second of the first), SIGHUP (the terminal was closed,
// the connection lost) and SIGPIPE (nobody reads the output any more), which come more than once
// and count as no request to leave at once.
#pragma once

#include <array>
#include <csignal>
#include <string_view>

#include "training/distributed/processes.h"

namespace roformer {

// What the number of a signal is added to, as shells count a program that one ended.
inline constexpr int kSignalExit = 128;

// Handles these signals while it lives. What was installed before comes back after; inside another
// one it changes nothing.
class StopSignals {
 public:
  // `what`, a literal, is what the first signal is told will happen.
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

// Thrown out of a validation that somebody does not want to wait for. It is made anew where the
// training goes on.
struct ValidationStopped {};

// For a loop over what is validated: throws ValidationStopped once a signal has asked to stop.
// Several processes end their validation together, and go on.
void stop_validation_if_asked(const Processes& processes);

}  // namespace roformer
