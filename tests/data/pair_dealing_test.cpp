#include "data/parallel_batches.h"

#include <algorithm>
#include <set>

#include "base/random.h"
#include "catch.h"

using namespace roformer;

namespace {

// Lengths of sentences and translations: alike, with a long tail.
std::vector<PairLength> sample_lengths(std::int64_t pairs, std::uint64_t seed = 3) {
  std::vector<PairLength> lengths;
  Random random(seed);
  for (std::int64_t i = 0; i < pairs; ++i) {
    const double base = 25 * std::exp(0.5 * random.normal());
    lengths.push_back(
        {.source = 1 + static_cast<std::int32_t>(base),
         .target = 1 + static_cast<std::int32_t>(base * std::exp(0.2 * random.normal()))});
  }
  return lengths;
}

struct Sums {
  std::int64_t source = 0;
  std::int64_t target = 0;
};
Sums sums_of(const std::vector<PairLength>& lengths, const std::vector<std::int64_t>& pairs) {
  Sums sums;
  for (const std::int64_t pair : pairs) {
    sums.source += lengths[static_cast<std::size_t>(pair)].source;
    sums.target += lengths[static_cast<std::size_t>(pair)].target;
  }
  return sums;
}

}  // namespace

TEST_CASE("Every epoch deals each pair once, within the budget, into as many batches") {
  for (const std::int64_t pairs : {1, 2, 7, 100, 1000, 5003}) {
    for (const std::int64_t tokens : {10, 100, 1000}) {
      for (const std::int64_t sentences : {0, 3}) {
        for (const bool shuffle : {true, false}) {
          const std::vector<PairLength> lengths = sample_lengths(pairs);
          const PairDealing dealing(
              lengths, {.tokens = tokens, .sentences = sentences, .seed = 5, .shuffle = shuffle});
          CAPTURE(pairs, tokens, sentences, shuffle);
          for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
            std::vector<std::int64_t> seen;
            for (std::int64_t i = 0; i < dealing.batches_per_epoch(); ++i) {
              const auto batch = dealing[epoch * dealing.batches_per_epoch() + i];
              REQUIRE_FALSE(batch.empty());
              const Sums sums = sums_of(lengths, batch);
              if (batch.size() > 1) {
                CHECK(sums.source <= tokens);
                CHECK(sums.target <= tokens);
              }
              if (sentences > 0) CHECK(std::ssize(batch) <= sentences);
              CHECK(std::ranges::is_sorted(batch, {}, [&](std::int64_t pair) {
                const PairLength& length = lengths[static_cast<std::size_t>(pair)];
                return std::pair(length.source, length.target);
              }));
              seen.insert(seen.end(), batch.begin(), batch.end());
            }
            std::ranges::sort(seen);
            REQUIRE(std::ssize(seen) == pairs);
            for (std::int64_t i = 0; i < pairs; ++i) CHECK(seen[static_cast<std::size_t>(i)] == i);
          }
        }
      }
    }
  }
}

TEST_CASE("Batches are well filled, of similar lengths, and met by others in every epoch") {
  const std::vector<PairLength> lengths = sample_lengths(20'000);
  const PairDealing dealing(lengths, {.tokens = 4096, .seed = 1});
  const Sums all = sums_of(lengths, [] {
    std::vector<std::int64_t> pairs(20'000);
    for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = static_cast<std::int64_t>(i);
    return pairs;
  }());
  // What batches of exactly 4,096 tokens of the larger side would need.
  const double fewest = static_cast<double>(std::max(all.source, all.target)) / 4096;
  CHECK(static_cast<double>(dealing.batches_per_epoch()) < 1.2 * fewest);

  // Spread of the source's length inside a batch against all pairs.
  std::int64_t near = 0;
  std::set<std::vector<std::int64_t>> first_epoch;
  for (std::int64_t i = 0; i < dealing.batches_per_epoch(); ++i) {
    const auto batch = dealing[i];
    first_epoch.insert(batch);
    const auto low = lengths[static_cast<std::size_t>(batch.front())].source;
    const auto high = lengths[static_cast<std::size_t>(batch.back())].source;
    near += high - low <= 10;
  }
  CHECK(near > dealing.batches_per_epoch() * 3 / 4);
  // None of the second epoch's batches is one of the first's, and few pairs stay together.
  std::int64_t together = 0;
  std::int64_t met = 0;
  for (std::int64_t i = 0; i < dealing.batches_per_epoch(); ++i) {
    const auto batch = dealing[dealing.batches_per_epoch() + i];
    CHECK_FALSE(first_epoch.contains(batch));
    for (const auto& other : first_epoch) {
      std::vector<std::int64_t> both;
      auto a = batch, b = other;
      std::ranges::sort(a);
      std::ranges::sort(b);
      std::ranges::set_intersection(a, b, std::back_inserter(both));
      const auto n = std::ssize(both);
      together += n * (n - 1);
    }
    met += std::ssize(batch) * (std::ssize(batch) - 1);
  }
  CHECK(static_cast<double>(together) < 0.2 * static_cast<double>(met));
}

TEST_CASE("A batch depends on its number and the seed alone") {
  const std::vector<PairLength> lengths = sample_lengths(3000);
  const PairDealing one(lengths, {.tokens = 500, .seed = 1});
  const PairDealing same(lengths, {.tokens = 500, .seed = 1});
  const PairDealing other(lengths, {.tokens = 500, .seed = 2});
  CHECK(one[777] == same[777]);
  CHECK(one[777] != other[777]);
  CHECK(one.batches_per_epoch() == other.batches_per_epoch());
  CHECK(PairDealing({}, {.tokens = 10}).batches_per_epoch() == 0);
}
