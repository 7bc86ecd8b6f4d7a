// Heartbeats of the processes of a training. Each process writes to the common store a number that
// grows with every sign of life of its training thread, and reads those of the others. A number
// that has stopped tells which process was killed or hangs. A process that knows why it leaves
// writes the reason first.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace roformer {

// The part of the store that heartbeats need: text by key. May throw when the store is unreachable.
struct HeartbeatStore {
  std::function<void(const std::string& key, const std::string& value)> set;
  // Empty texts for missing keys.
  std::function<std::vector<std::string>(const std::vector<std::string>& keys)> get;
};

struct HeartbeatOptions {
  std::int64_t rank = 0;
  std::int64_t count = 1;
  std::vector<std::string> hosts;  // of each process
  std::int64_t store_rank = -1;    // the process that keeps the store; -1: the launcher
  std::chrono::milliseconds timeout{60'000};
  std::chrono::milliseconds beat{500};
};

class Heartbeat {
 public:
  Heartbeat(HeartbeatStore store, HeartbeatOptions options);
  // Does not wait for an unresponsive store.
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  void alive();
  // While the result lives, the heartbeat thread gives the signs of life itself.
  std::shared_ptr<void> busy();
  // Tells the others with the next beat that this process was asked to stop (`own`). Returns
  // whether any process is known to have been asked.
  bool stops(bool own);
  // Writes why this process leaves; the others report the first such reason.
  void leave(const std::string& message) noexcept;

  // A problem of another process, in one line naming process and host. Empty if all is well.
  std::optional<std::string> verdict() const;
  // The same after a call to the others has failed. Waits a few beats to see which process has
  // stopped.
  std::string explain(const std::string& failure) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace roformer
