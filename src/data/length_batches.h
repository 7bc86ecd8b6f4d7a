// Batches of sequences of different lengths: single sequences, such as sentences to classify, and
// pairs for a translator. A batch holds sequences of similar length, so that padding is small. A
// batch is a pure function of its number.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "data/parallel_dataset.h"

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

// Batches sequences from the same bucket of lengths. The epoch decides which sequences are in a
// batch together and the order of the batches. It does not change the number of batches or their
// sizes.
class LengthBuckets {
 public:
  // Lengths are at least 1. A sequence longer than options.tokens forms a batch alone.
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

struct PairLength {
  std::int32_t source = 0;  // tokens, at least 1
  std::int32_t target = 0;
};

struct DealingOptions {
  std::int64_t tokens = 4096;  // of a batch at most, on each side
  std::int64_t sentences = 0;  // of a batch at most; 0: any number
  std::uint64_t seed = 1;
  bool shuffle = true;  // false: from short to long, the same every epoch
};

// Deals sentence pairs to batches. The pairs are sorted by (source, target) length and cut into
// strata of neighbours, each with as many pairs as there are rounds. Every epoch deals the pairs of
// each stratum to the rounds in a new order. So a round holds every length. Its batches are cut at
// the same strata in every epoch, and hold pairs of similar length in new combinations. The longest
// pair of a stratum counts for all its pairs: no batch exceeds its budget in any epoch, and the
// number of batches never changes.
class PairDealing {
 public:
  // A pair longer than options.tokens forms a batch alone.
  PairDealing(std::vector<PairLength> lengths, DealingOptions options);

  // 0 without pairs.
  std::int64_t batches_per_epoch() const { return rounds_ * batches_per_round(); }
  // The pairs of batch n >= 0, counted through the epochs, sorted by length. Every epoch has each
  // pair once. Never empty. Safe to call from several threads.
  std::vector<std::int64_t> operator[](std::int64_t n) const;

 private:
  std::vector<PairLength> lengths_;
  DealingOptions options_;
  std::vector<std::int32_t> sorted_;  // pair numbers by (source, target) length
  std::int64_t rounds_ = 1;
  std::vector<std::int64_t> cuts_;  // strata where the batches of a round begin, and the end

  std::int64_t strata() const;
  std::int64_t batches_per_round() const { return static_cast<std::int64_t>(cuts_.size()) - 1; }
  // The first and the one-past-last index of a stratum in sorted_.
  std::pair<std::int64_t, std::int64_t> range(std::int64_t stratum) const;
  void cut(std::int64_t rounds);
};

// B pairs with their sources and targets, each joined without padding. The pairs are sorted by
// (source, target) length, so that equal lengths are neighbours.
struct ParallelBatch {
  std::vector<std::int64_t> sentences;      // [B] numbers in the split
  std::vector<std::int64_t> source_ids;     // [S] each sentence ends with the end token
  std::vector<std::int64_t> source_starts;  // [B + 1] where sources begin, and the end
  std::vector<std::int64_t> target_ids;     // [T] the begin token, then the target without its end
  std::vector<std::int64_t> labels;         // [T] the target with its end: what follows target_ids
  std::vector<std::int64_t> target_starts;  // [B + 1] where targets begin, and the end

  std::int64_t size() const { return static_cast<std::int64_t>(sentences.size()); }
};

struct ParallelBatchOptions {
  std::int64_t tokens = 4096;       // of a batch at most, on each side
  std::int64_t sentences = 0;       // of a batch at most; 0: any number
  std::int64_t longest_source = 0;  // tokens; longer pairs are left out; 0: none
  std::int64_t longest_target = 0;
  std::uint64_t seed = 1;
  bool shuffle = true;  // false: from short to long, the same every epoch
};

class ParallelBatches {
 public:
  // Throws Error (failure) when no pair of the split is left. The data set must outlive it.
  ParallelBatches(const ParallelDataset& dataset, Split split, const ParallelBatchOptions& options);

  std::int64_t batches_per_epoch() const { return dealing_.batches_per_epoch(); }
  // Batch n >= 0, counted through the epochs; every epoch has each pair once. Safe to call from
  // several threads.
  ParallelBatch operator[](std::int64_t n) const;

  std::int64_t pairs() const { return static_cast<std::int64_t>(kept_.size()); }
  std::int64_t left_out() const { return left_out_; }  // for being too long

 private:
  struct Selection;

  const ParallelDataset& dataset_;
  Split split_;
  SentenceTokens target_tokens_;
  std::vector<std::int32_t> kept_;  // sentence numbers
  std::int64_t left_out_ = 0;
  PairDealing dealing_;

  ParallelBatches(const ParallelDataset& dataset, Split split, const ParallelBatchOptions& options,
                  Selection selection);
};

// The batch of these sentences of a split, in the given order.
ParallelBatch make_parallel_batch(const ParallelDataset& dataset, Split split,
                                  const std::vector<std::int64_t>& sentences);

}  // namespace roformer
