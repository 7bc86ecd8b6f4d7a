// Whether the loops that are written for several threads have them.
#include "tensor/parallel.h"

#include <array>
#include <atomic>
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
  // Nobody takes all pieces before the other thread has begun.
  const auto note = [&] {
    {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  for_rows(8, std::int64_t{1} << 17, [&](std::int64_t, std::int64_t) { note(); });
  CHECK(seen.size() == 2);
  seen.clear();
  for_each_in_turn(
      8, [&](std::int64_t) { note(); }, [] {});
  CHECK(seen.size() == 2);
  at::set_num_threads(threads);
}

TEST_CASE("a thread that waits keeps one piece, and the others take the rest of its share") {
  const int threads = at::get_num_threads();
  at::set_num_threads(2);
  constexpr std::int64_t kPieces = 8;
  for (const std::int64_t slow : {std::int64_t{0}, kPieces / 2}) {
    std::array<std::atomic<int>, kPieces> calls{};
    std::atomic<std::int64_t> others = 0;
    bool rest_taken = false;
    for_pieces(kPieces, [&](std::int64_t i) {
      ++calls[static_cast<std::size_t>(i)];
      if (i != slow) {
        ++others;
        return;
      }
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (others < kPieces - 1 && std::chrono::steady_clock::now() < end) {
        std::this_thread::yield();
      }
      rest_taken = others == kPieces - 1;
    });
    CHECK(rest_taken);
    for (const std::atomic<int>& count : calls) CHECK(count == 1);
  }
  at::set_num_threads(threads);
}
#endif
