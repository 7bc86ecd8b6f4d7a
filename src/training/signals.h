// SIGINT and SIGTERM during a training: the first asks it to save and leave after the step that
// runs, the second leaves at once.
#pragma once

#include <csignal>

namespace roformer {

// Handles both signals while it lives; one at a time. What was installed before comes back after.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  // The signal that asked to stop, or 0. The exit code of a run stopped by it is 128 + signal.
  static int received();

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

}  // namespace roformer
