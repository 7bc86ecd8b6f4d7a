#include "data/length_batches.h"

#include <algorithm>

#include "base/random.h"
#include "catch.h"

using namespace roformer;

namespace {

std::vector<std::int32_t> sample_lengths() {
  std::vector<std::int32_t> lengths;
  Random random(5);
  for (int i = 0; i < 1000; ++i)
    lengths.push_back(static_cast<std::int32_t>(1 + random.below(100)));
  lengths.push_back(500);
  return lengths;
}

}  // namespace

TEST_CASE("Every epoch has each sequence once, within the budget") {
  const std::vector<std::int32_t> lengths = sample_lengths();
  for (const BucketOptions options : {BucketOptions{.sequences = 32}, BucketOptions{.tokens = 400},
                                      BucketOptions{.tokens = 400, .shuffle = false},
                                      BucketOptions{.sequences = 7, .bucket_width = 1000}}) {
    const LengthBuckets buckets(lengths, options);
    std::vector<std::vector<std::int64_t>> epochs(2);
    for (std::int64_t n = 0; n < 2 * buckets.batches_per_epoch(); ++n) {
      const BucketBatch batch = buckets[n];
      REQUIRE_FALSE(batch.sequences.empty());
      std::int64_t tokens = 0;
      std::int32_t longest = 0;
      for (const std::int64_t sequence : batch.sequences) {
        tokens += lengths[static_cast<std::size_t>(sequence)];
        longest = std::max(longest, lengths[static_cast<std::size_t>(sequence)]);
      }
      const auto count = static_cast<std::int64_t>(batch.sequences.size());
      REQUIRE(batch.tokens == tokens);
      REQUIRE(batch.padding == longest * count - tokens);
      if (options.sequences > 0) REQUIRE(count <= options.sequences);
      if (options.tokens > 0) REQUIRE((count == 1 || longest * count <= options.tokens));
      auto& epoch = epochs[static_cast<std::size_t>(n / buckets.batches_per_epoch())];
      epoch.insert(epoch.end(), batch.sequences.begin(), batch.sequences.end());
    }
    CHECK((epochs[0] != epochs[1]) == options.shuffle);
    for (std::vector<std::int64_t>& epoch : epochs) {
      std::ranges::sort(epoch);
      REQUIRE(epoch.size() == lengths.size());
      for (std::size_t i = 0; i < epoch.size(); ++i) {
        REQUIRE(epoch[i] == static_cast<std::int64_t>(i));
      }
    }
  }
}

TEST_CASE("Buckets save padding, and the same seed gives the same batches") {
  const auto padding = [](const BucketOptions& options) {
    const LengthBuckets buckets(sample_lengths(), options);
    std::int64_t total = 0;
    for (std::int64_t n = 0; n < buckets.batches_per_epoch(); ++n) total += buckets[n].padding;
    return total;
  };
  const std::int64_t mixed = padding({.sequences = 32, .bucket_width = 1000});
  const std::int64_t near = padding({.sequences = 32, .bucket_width = 8});
  CHECK(near * 5 < mixed);
  const LengthBuckets a(sample_lengths(), {.sequences = 8, .seed = 1});
  const LengthBuckets b(sample_lengths(), {.sequences = 8, .seed = 1});
  const LengthBuckets c(sample_lengths(), {.sequences = 8, .seed = 2});
  CHECK(a[3].sequences == b[3].sequences);
  CHECK(a[3].sequences != c[3].sequences);
}

TEST_CASE("No sequences make no batches") {
  CHECK(LengthBuckets({}, {.sequences = 8}).batches_per_epoch() == 0);
}
