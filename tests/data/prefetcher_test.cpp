#include "data/prefetcher.h"

#include <atomic>
#include <chrono>
#include <stdexcept>

#include "catch.h"

using namespace roformer;

TEST_CASE("Batches come in order when later ones are ready first") {
  Prefetcher<std::int64_t> loader({.threads = 4, .depth = 4}, [](std::int64_t n) {
    std::this_thread::sleep_for(std::chrono::microseconds((3 - n % 4) * 300));
    return n;
  });
  for (std::int64_t n = 0; n < 100; ++n) REQUIRE(loader.next() == n);
}

TEST_CASE("No more batches than the depth are made ahead") {
  std::atomic<std::int64_t> made{0};
  Prefetcher<std::int64_t> loader({.threads = 3, .depth = 2}, [&](std::int64_t n) {
    ++made;
    return n;
  });
  loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  CHECK(made == 3);
}

TEST_CASE("What a worker throws reaches the consumer in its place") {
  for (const std::int64_t threads : {0, 2}) {
    CAPTURE(threads);
    Prefetcher<std::int64_t> loader({.threads = threads, .depth = 2}, [](std::int64_t n) {
      if (n == 3) throw std::runtime_error("batch 3");
      return n;
    });
    for (std::int64_t n = 0; n < 3; ++n) REQUIRE(loader.next() == n);
    CHECK_THROWS_WITH(loader.next(), "batch 3");
    CHECK_THROWS_WITH(loader.next(), "batch 3");
  }
}
