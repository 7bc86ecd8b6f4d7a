// Who of the processes is alive. Each says so in the common store, in a number that grows with
// every sign of life of its training thread, and reads those of the others. Which one was killed
// and which one hangs is told from numbers that have stopped. Where one knows why it leaves, it
// says that first.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace roformer {

// The store, as far as it is needed: text by key. May throw when the store cannot be reached.
struct PulseStore {
  std::function<void(const std::string& key, const std::string& value)> set;
  // Empty texts for keys that are not there.
  std::function<std::vector<std::string>(const std::vector<std::string>& keys)> get;
};

struct PulseOptions {
  std::int64_t rank = 0;
  std::int64_t count = 1;
  std::vector<std::string> hosts;  // of each process
  std::int64_t store_rank = -1;    // the process that keeps the store; -1: the launcher
  std::chrono::milliseconds timeout{60'000};
  std::chrono::milliseconds beat{500};
};

class Pulse {
 public:
  Pulse(PulseStore store, PulseOptions options);
  // Does not wait for a store that does not answer.
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  void alive();
  // While it lives, the thread gives the signs of life itself.
  std::shared_ptr<void> busy();
  // Tells the others with the next beat that this process was asked to stop (`own`); whether one of
  // all was, as far as it is known here.
  bool stops(bool own);
  // Says why this process leaves; the first that does so is who all others name.
  void leave(const std::string& message) noexcept;

  // What has gone wrong elsewhere so far, in one line naming process and host; nothing else.
  std::optional<std::string> verdict() const;
  // The same after a call to the others has failed: waits a few beats for who has stopped.
  std::string explain(const std::string& failure) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace roformer
