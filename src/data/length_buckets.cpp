#include "data/length_buckets.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/random.h"

namespace roformer {

LengthBuckets::LengthBuckets(std::vector<std::int32_t> lengths, BucketOptions options)
    : lengths_(std::move(lengths)), options_(options), sorted_(lengths_.size()) {
  ROFORMER_ASSERT((options.sequences > 0) != (options.tokens > 0) && options.bucket_width > 0);
  const auto bucket = [&](std::int64_t sequence) {
    const std::int32_t length = lengths_[static_cast<std::size_t>(sequence)];
    ROFORMER_ASSERT(length > 0);
    return (length - 1) / options_.bucket_width;
  };
  std::iota(sorted_.begin(), sorted_.end(), 0);
  std::ranges::stable_sort(sorted_, {}, bucket);

  std::int64_t batch_begin = 0;
  std::int32_t bucket_longest = 0;
  const auto count = static_cast<std::int64_t>(sorted_.size());
  // The longest sequence of each bucket decides, not those that meet in an epoch: the cuts are the
  // same in every epoch.
  for (std::int64_t begin = 0; begin < count;) {
    std::int64_t end = begin;
    bucket_longest = 0;
    while (end < count && bucket(sorted_[static_cast<std::size_t>(end)]) ==
                              bucket(sorted_[static_cast<std::size_t>(begin)])) {
      const auto sequence = static_cast<std::size_t>(sorted_[static_cast<std::size_t>(end)]);
      bucket_longest = std::max(bucket_longest, lengths_[sequence]);
      ++end;
    }
    buckets_.push_back(begin);
    for (std::int64_t index = begin; index < end; ++index) {
      const std::int64_t members = index - batch_begin;
      const bool full = options_.sequences > 0 ? members == options_.sequences
                                               : (members + 1) * bucket_longest > options_.tokens;
      if (cuts_.empty() || (full && members > 0)) {
        cuts_.push_back(index);
        batch_begin = index;
      }
    }
    begin = end;
  }
  buckets_.push_back(count);
  cuts_.push_back(count);
}

BucketBatch LengthBuckets::operator[](std::int64_t n) const {
  ROFORMER_ASSERT(n >= 0 && batches_per_epoch() > 0);
  const auto epoch = static_cast<std::uint64_t>(n / batches_per_epoch());
  auto number = static_cast<std::uint64_t>(n % batches_per_epoch());
  const auto key = [&](std::string_view what, std::uint64_t which) {
    return random_key({options_.seed, random_word(what), epoch, which});
  };
  if (options_.shuffle) {
    const auto count = static_cast<std::uint64_t>(batches_per_epoch());
    number = Permutation(count, key("batch order", 0))[number];
  }
  BucketBatch batch;
  std::int64_t longest = 0;
  for (std::int64_t index = cuts_[number]; index < cuts_[number + 1]; ++index) {
    const auto after = std::ranges::upper_bound(buckets_, index);
    const std::int64_t begin = *(after - 1);
    std::int64_t chosen = index;
    if (options_.shuffle) {
      const Permutation permutation(static_cast<std::uint64_t>(*after - begin),
                                    key("bucket", static_cast<std::uint64_t>(begin)));
      chosen =
          begin + static_cast<std::int64_t>(permutation[static_cast<std::uint64_t>(index - begin)]);
    }
    const std::int64_t sequence = sorted_[static_cast<std::size_t>(chosen)];
    const std::int64_t length = lengths_[static_cast<std::size_t>(sequence)];
    batch.sequences.push_back(sequence);
    batch.tokens += length;
    longest = std::max(longest, length);
  }
  batch.padding = longest * static_cast<std::int64_t>(batch.sequences.size()) - batch.tokens;
  return batch;
}

}  // namespace roformer
