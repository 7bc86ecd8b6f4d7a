// Batches of sequences of different length, such as sentences to classify. Sequences of similar
// length (the same bucket) come together, so that little is padded, or nothing at all when the
// batch is unpadded. Which sequences meet, and the order of the batches, change with the epoch; how
// many batches there are and how large does not, so that a batch is found by its number alone.
#pragma once

#include <cstdint>
#include <vector>

namespace roformer {

struct BucketOptions {
  std::int64_t sequences = 0;     // per batch; 0: by tokens
  std::int64_t tokens = 0;        // positions a batch may have, padding included; 0: by sequences
  std::int64_t bucket_width = 8;  // lengths that count as equal; large: sequences mix freely
  std::uint64_t seed = 1;
  bool shuffle = true;  // false: by length, then in their order, the same every epoch
};

struct BucketBatch {
  std::vector<std::int64_t> sequences;  // their numbers
  std::int64_t tokens = 0;              // real ones
  std::int64_t padding = 0;             // positions added if padded to the longest of the batch
};

class LengthBuckets {
 public:
  // Lengths are at least 1. A sequence longer than options.tokens makes a batch of its own.
  LengthBuckets(std::vector<std::int32_t> lengths, BucketOptions options);

  std::int64_t batches_per_epoch() const { return static_cast<std::int64_t>(cuts_.size()) - 1; }
  // Batch n >= 0, counted through the epochs. Every epoch has each sequence once. Safe to call from
  // several threads.
  BucketBatch operator[](std::int64_t n) const;

 private:
  std::vector<std::int32_t> lengths_;
  BucketOptions options_;
  std::vector<std::int64_t> sorted_;   // sequence numbers by bucket
  std::vector<std::int64_t> buckets_;  // where buckets begin in sorted_, and the end
  std::vector<std::int64_t> cuts_;     // where batches begin in sorted_, and the end
};

}  // namespace roformer
