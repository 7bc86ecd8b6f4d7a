// Whether the loops that are written for several threads have them.
#include "tensor/parallel.h"

#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "catch.h"

using namespace roformer;

#ifdef _OPENMP  // without it, and with ThreadSanitizer, there is one
TEST_CASE("rows are split over LibTorch's threads") {
  const int threads = at::get_num_threads();
  at::set_num_threads(2);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  const auto note = [&] {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  };
  for_rows(8, std::int64_t{1} << 17, [&](std::int64_t, std::int64_t) { note(); });
  CHECK(seen.size() == 2);
  seen.clear();
  // Nobody takes the second piece before the other has begun.
  for_each_in_turn(
      8,
      [&](std::int64_t) {
        note();
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      },
      [] {});
  CHECK(seen.size() == 2);
  at::set_num_threads(threads);
}
#endif
