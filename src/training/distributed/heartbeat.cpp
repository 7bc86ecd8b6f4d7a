#include "training/distributed/heartbeat.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace roformer {
namespace {

using Clock = std::chrono::steady_clock;

std::string heartbeat_key(std::int64_t rank) {
  return fmt::format("pulse/{}", rank);
}
constexpr const char* kReason = "reason";
constexpr const char* kStops = " stop";  // added by a process that was asked to stop

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

struct Heartbeat::State {
  HeartbeatStore store;
  HeartbeatOptions options;
  std::atomic<std::int64_t> signs{1};  // of life, by the training thread
  std::atomic<int> busy{0};
  std::atomic<bool> asked_to_stop{false}, other_stops{false};
  std::int64_t beats = 0;
  // Time passes only while this process runs: if all processes were stopped and continue together,
  // none counts as silent.
  Clock::time_point looked = Clock::now();
  Clock::time_point passed = looked;

  mutable std::mutex mutex;
  mutable std::condition_variable changed;
  bool stop = false;
  bool hurry = false;                         // the next beat is due now
  bool ended = false;                         // the thread has ended
  std::string reason;                         // that a leaving process wrote to the store
  std::string unreachable;                    // the store's last error
  Clock::time_point answered = Clock::now();  // when the store last answered
  // A process writes "BEATS SIGNS": that it exists, and that its training goes on. " stop" follows
  // where it was asked to stop.
  struct Seen {
    std::string beats, signs;
    Clock::time_point beaten = Clock::now();
    Clock::time_point worked = Clock::now();
  };
  std::vector<Seen> seen;  // of each process

  // Under the mutex. Called at least at every beat, so a longer gap means that the process was
  // stopped.
  Clock::time_point now() {
    constexpr std::chrono::seconds kLeast{1};
    const Clock::time_point time = Clock::now();
    passed += std::min<Clock::duration>(time - std::exchange(looked, time),
                                        std::max<Clock::duration>(4 * options.beat, kLeast));
    return passed;
  }

  std::string name(std::int64_t rank) const {
    return fmt::format("process {} on {}", rank, options.hosts[static_cast<std::size_t>(rank)]);
  }

  void beat() {
    if (busy > 0) ++signs;
    std::vector<std::string> keys;
    for (std::int64_t r = 0; r < options.count; ++r) keys.push_back(heartbeat_key(r));
    keys.emplace_back(kReason);
    try {
      store.set(heartbeat_key(options.rank),
                fmt::format("{} {}{}", ++beats, signs.load(), asked_to_stop ? kStops : ""));
      const std::vector<std::string> values = store.get(keys);
      const std::lock_guard lock(mutex);
      answered = now();
      unreachable.clear();
      for (std::size_t r = 0; r < seen.size(); ++r) {
        const std::size_t space = std::min(values[r].find(' '), values[r].size());
        const std::string beaten = values[r].substr(0, space), worked = values[r].substr(space);
        if (values[r].ends_with(kStops)) other_stops = true;
        if (std::exchange(seen[r].beats, beaten) != beaten) seen[r].beaten = answered;
        if (std::exchange(seen[r].signs, worked) != worked) seen[r].worked = answered;
      }
      reason = values.back();
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex);
      unreachable = error.what();
    }
    changed.notify_all();
  }

  void run() {
    std::unique_lock lock(mutex);
    while (!stop) {
      lock.unlock();
      beat();
      lock.lock();
      changed.wait_for(lock, options.beat, [this] { return stop || hurry; });
      hurry = false;
    }
    ended = true;
    changed.notify_all();
  }

  // Under the mutex. Describes a process that has been silent for longer than `limit`, by its
  // training thread or altogether.
  std::optional<std::string> silent_for(Clock::duration limit,
                                        Clock::time_point Seen::*since = &Seen::worked) {
    const Clock::time_point time = now();
    if (!reason.empty()) return reason;
    const auto says = [&](std::int64_t rank, Clock::time_point last) {
      return fmt::format("{} has not responded for {:.0f} s", name(rank), seconds(time - last));
    };
    // An unresponsive store hides all processes, but its keeper is known.
    if (options.store_rank != options.rank && (!unreachable.empty() || time - answered > limit)) {
      if (options.store_rank < 0 && !unreachable.empty()) return "the launcher is gone";
      if (options.store_rank >= 0 && !unreachable.empty()) {
        return name(options.store_rank) + " is gone";
      }
      if (options.store_rank >= 0) return says(options.store_rank, answered);
    }
    const Seen* oldest = nullptr;
    for (const Seen& other : seen) {
      if (&other - seen.data() == options.rank || time - other.*since <= limit) continue;
      if (oldest == nullptr || other.*since < oldest->*since) oldest = &other;
    }
    if (oldest == nullptr) return std::nullopt;
    return says(oldest - seen.data(), oldest->*since);
  }
};

Heartbeat::Heartbeat(HeartbeatStore store, HeartbeatOptions options)
    : state_(std::make_shared<State>()) {
  state_->store = std::move(store);
  state_->options = std::move(options);
  state_->seen.resize(static_cast<std::size_t>(state_->options.count));
  std::thread([state = state_] { state->run(); }).detach();
}

Heartbeat::~Heartbeat() {
  std::unique_lock lock(state_->mutex);
  state_->stop = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, std::chrono::seconds(1), [this] { return state_->ended; });
}

void Heartbeat::alive() {
  ++state_->signs;
}

std::shared_ptr<void> Heartbeat::busy() {
  ++state_->busy;
  return {nullptr, [state = state_](void*) { --state->busy; }};
}

bool Heartbeat::stops(bool own) {
  if (own && !state_->asked_to_stop.exchange(true)) {
    const std::lock_guard lock(state_->mutex);
    state_->hurry = true;
    state_->changed.notify_all();
  }
  return state_->asked_to_stop || state_->other_stops;
}

void Heartbeat::leave(const std::string& message) noexcept {
  try {
    {
      const std::lock_guard lock(state_->mutex);
      if (!state_->reason.empty() || !state_->unreachable.empty()) return;
    }
    state_->store.set(kReason, state_->name(state_->options.rank) + ": " + message);
  } catch (...) {  // the others find out by themselves
  }
}

std::optional<std::string> Heartbeat::verdict() const {
  const std::lock_guard lock(state_->mutex);
  return state_->silent_for(state_->options.timeout);
}

std::string Heartbeat::explain(const std::string& failure) const {
  constexpr int kBeats = 6;
  std::unique_lock lock(state_->mutex);
  // Keeps this process alive for the others meanwhile.
  ++state_->busy;
  const Clock::time_point end = Clock::now() + kBeats * state_->options.beat;
  std::optional<std::string> found;
  while (!found && Clock::now() < end) {
    state_->changed.wait_for(lock, state_->options.beat);
    if (!state_->reason.empty() || !state_->unreachable.empty()) {
      found = state_->silent_for(state_->options.timeout);
    }
  }
  if (!found) found = state_->silent_for((kBeats - 3) * state_->options.beat, &State::Seen::beaten);
  --state_->busy;
  return found.value_or("the connection to another process failed: " + failure);
}

}  // namespace roformer
