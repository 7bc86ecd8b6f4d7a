// Makes batches ahead of their use, on separate threads, and returns them in order. Any number of
// threads gives the same batches, since a batch is a function of its number.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/error.h"

namespace roformer {

struct PrefetchOptions {
  std::int64_t threads = 1;  // 0: batches are made by the caller of next()
  std::int64_t depth = 4;    // batches made ahead, at least 1
};

template <typename Batch>
class Prefetcher {
 public:
  // `make` is called from several threads at once with 0, 1, 2, …
  using Make = std::function<Batch(std::int64_t)>;

  Prefetcher(PrefetchOptions options, Make make) : options_(options), make_(std::move(make)) {
    ROFORMER_ASSERT(options.threads >= 0 && options.depth >= 1);
    slots_ = std::vector<Slot>(static_cast<std::size_t>(options.depth));
    for (std::int64_t i = 0; i < options.threads; ++i) {
      workers_.emplace_back([this](std::stop_token token) { work(token); });
    }
  }
  ~Prefetcher() {
    for (std::jthread& worker : workers_) worker.request_stop();
    workers_.clear();  // joins
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Waits for the batch; rethrows what making it threw, and would again at the next call.
  Batch next() {
    if (options_.threads == 0) {
      Batch batch = make_(cursor_);
      ++cursor_;
      return batch;
    }
    std::unique_lock lock(mutex_);
    Slot& slot = slots_[static_cast<std::size_t>(cursor_ % options_.depth)];
    ready_.wait(lock, [&] { return slot.batch.has_value() || slot.problem != nullptr; });
    if (slot.problem) std::rethrow_exception(slot.problem);
    Batch batch = std::move(*slot.batch);
    slot.batch.reset();
    ++cursor_;
    room_.notify_one();
    return batch;
  }

 private:
  struct Slot {
    std::optional<Batch> batch;
    std::exception_ptr problem;
  };

  PrefetchOptions options_;
  Make make_;
  std::int64_t cursor_ = 0;
  std::int64_t next_to_make_ = 0;
  std::vector<Slot> slots_;  // batch n goes to slot n % depth
  std::mutex mutex_;
  std::condition_variable ready_;
  std::condition_variable_any room_;
  std::vector<std::jthread> workers_;

  void work(std::stop_token token) {
    std::unique_lock lock(mutex_);
    for (;;) {
      // A batch is begun only when its slot has been emptied.
      const bool has_room =
          room_.wait(lock, token, [&] { return next_to_make_ < cursor_ + options_.depth; });
      if (!has_room || token.stop_requested()) return;
      const std::int64_t number = next_to_make_++;
      Slot made;
      lock.unlock();
      try {
        made.batch.emplace(make_(number));
      } catch (...) {
        made.problem = std::current_exception();
      }
      lock.lock();
      slots_[static_cast<std::size_t>(number % options_.depth)] = std::move(made);
      ready_.notify_one();
    }
  }
};

}  // namespace roformer
