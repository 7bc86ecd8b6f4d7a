#include "base/work_threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace roformer {

void on_threads(std::size_t count, std::int64_t threads,
                const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr problem;
  std::mutex problem_mutex;
  const auto take_items = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(problem_mutex);
        problem = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    const std::size_t wanted =
        std::min(static_cast<std::size_t>(std::max<std::int64_t>(threads, 1)), count);
    for (std::size_t i = 1; i < wanted; ++i) others.emplace_back(take_items);
    take_items();
  }
  if (problem) std::rethrow_exception(problem);
}

}  // namespace roformer
