#include "base/random.h"

#include <set>

#include "catch.h"

using namespace roformer;

TEST_CASE("a permutation visits every index once, and its key changes the order") {
  for (const std::uint64_t size : {1, 2, 3, 17, 1000}) {
    std::set<std::uint64_t> seen;
    const Permutation permutation(size, 7);
    for (std::uint64_t i = 0; i < size; ++i) seen.insert(permutation[i]);
    CHECK(seen.size() == size);
    CHECK(*seen.rbegin() == size - 1);
  }
  const Permutation first(1000, 1), second(1000, 2);
  int same = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) same += first[i] == second[i];
  CHECK(same < 20);
}

TEST_CASE("normal numbers have the moments of the distribution") {
  Random random(random_key({1, 2}));
  double sum = 0, squares = 0, largest = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const double value = random.truncated_normal();
    sum += value;
    squares += value * value;
    largest = std::max(largest, std::abs(value));
  }
  CHECK(std::abs(sum / kDraws) < 0.01);
  // Variance of a standard normal cut at 2: 1 - 4 pdf(2) / (cdf(2) - cdf(-2)) = 0.7737.
  CHECK(squares / kDraws == Approx(0.7737).epsilon(0.02));
  CHECK(largest <= 2.0);
}
